package import HTTPMessage

/// A response without its body, checked.
package struct ResponseHead: Sendable {
    package var status: HTTPStatus
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    package var framing: BodyFraming
    /// Whether the connection may be used again, as far as the head tells.
    package var keepAlive: Bool
    /// Content-Length where there is no body: the answer to HEAD, and 304.
    package var announcedLength: Int?
}
