public import FoundationEssentials

/// The part of an unsuccessful response that is kept: enough to find out why it failed.
public struct FailedResponse: Sendable {
    /// The most content that is kept, in bytes.
    public static let contentLimit = 64 * 1024

    /// The status.
    public let status: HTTPStatus
    /// The field section.
    public let headers: HTTPHeaders
    /// The content, or its beginning.
    public let content: Data
    /// Whether the content is longer than the kept part.
    public let isTruncated: Bool
    /// The decoder of the call; `nil` without a call.
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

    /// The content as text; invalid UTF-8 is replaced.
    public var text: String { String(decoding: content, as: UTF8.self) }
}
