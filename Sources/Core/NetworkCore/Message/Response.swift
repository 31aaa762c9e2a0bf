/// A final response whose content may still be arriving.
///
/// The receiver reads the body to its end or cancels it; either frees the connection.
public struct Response: Sendable {
    /// The status.
    public var status: HTTPStatus
    /// The field section, without hop-by-hop and framing fields.
    public var headers: HTTPHeaders
    /// The content.
    public var body: HTTPBody
    /// The `Content-Length` of a response without the announced content: to HEAD, or 304.
    public var announcedLength: Int?

    /// Creates a response.
    public init(
        status: HTTPStatus,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .empty,
        announcedLength: Int? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.announcedLength = announcedLength
    }
}

/// A version of HTTP.
// Without raw values, so that a comparison takes one instruction.
package enum HTTPVersion: Sendable {
    case http10
    case http11
    case http2
}
