public import FoundationEssentials

/// The kept part of an unsuccessful response, which is enough to find the cause.
public struct FailedResponse: Sendable {
    /// The maximum size of the kept content, in bytes.
    public static let contentLimit = 64 * 1024

    /// The status.
    public let status: HTTPStatus
    /// The field section.
    public let headers: HTTPHeaders
    /// The content, or its first part.
    public let content: Data
    /// Whether the content is longer than the kept part.
    public let isTruncated: Bool
    /// The decoder of the call; `nil` outside a call.
    package var decoder: (any ContentDecoding)?

    /// Creates a failed response.
    public init(
        status: HTTPStatus,
        headers: HTTPHeaders = [:],
        content: Data = Data(),
        isTruncated: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.content = content
        self.isTruncated = isTruncated
    }

    /// The content as text; invalid UTF-8 is replaced.
    public var text: String { String(decoding: content, as: UTF8.self) }
}
