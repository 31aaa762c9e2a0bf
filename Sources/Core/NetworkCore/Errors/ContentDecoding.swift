public import FoundationEssentials

/// Decodes content into values, like `JSONDecoder` or a decoder of another format.
public protocol ContentDecoding: Sendable {
    /// Decodes a value.
    ///
    /// - Throws: an error that explains why the content is not a valid value.
    func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value
}

extension JSONDecoder: ContentDecoding {}

/// A type with a value that represents missing content.
public protocol EmptyContent {
    /// The value that represents missing content.
    static var emptyContent: Self { get }
}

/// The type of missing content, for responses such as 204.
public struct NoContent: Sendable, Hashable, Codable, EmptyContent {
    /// Creates the value.
    public init() {}
    /// The value itself.
    public static var emptyContent: NoContent { NoContent() }
}

extension Optional: EmptyContent {
    /// `nil`, for missing content.
    public static var emptyContent: Wrapped? { nil }
}
