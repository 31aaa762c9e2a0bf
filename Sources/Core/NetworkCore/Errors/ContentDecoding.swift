public import FoundationEssentials

/// Turns content into values: `JSONDecoder`, or a decoder of another format.
public protocol ContentDecoding: Sendable {
    /// Decodes a value.
    ///
    /// - Throws: an error that explains why the content is not such a value.
    func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value
}

extension JSONDecoder: ContentDecoding {}

/// A type that has a value for "there was no content".
public protocol EmptyContent {
    /// The value of no content.
    static var emptyContent: Self { get }
}

/// No content: what to ask for where an answer such as 204 is expected.
public struct NoContent: Sendable, Hashable, Codable, EmptyContent {
    /// Makes the value.
    public init() {}
    /// The value itself.
    public static var emptyContent: NoContent { NoContent() }
}

extension Optional: EmptyContent {
    /// No content.
    public static var emptyContent: Wrapped? { nil }
}
