public import FoundationEssentials

/// What is kept of an unsuccessful response: enough to find out why it failed.
public struct FailedResponse: Sendable {
    /// How much of the content is kept at most, in bytes.
    public static let contentLimit = 64 * 1024

    /// The status.
    public let status: HTTPStatus
    /// The field section.
    public let headers: HTTPHeaders
    /// The content, or its beginning.
    public let content: Data
    /// Whether the content is longer than what is kept.
    public let isTruncated: Bool
    /// What the call would have decoded the content with; `nil` without a call.
    package var decoder: (any ContentDecoding)?

    /// Keeps a response.
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

    /// The content as text; what is no UTF-8 is replaced.
    public var text: String { String(decoding: content, as: UTF8.self) }
}
