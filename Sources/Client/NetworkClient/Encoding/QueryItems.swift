public import FoundationEssentials

/// Ordered parameters of a query or a form; a name may occur more than once.
///
/// A literal with strings, numbers and Booleans is enough: `["page": 2, "sort": "name"]`. Use your own struct
/// for
/// dates or lists.
public struct QueryItems: Sendable, Hashable, Encodable, ExpressibleByDictionaryLiteral {
    /// A parameter.
    public struct Item: Sendable, Hashable {
        /// The name, not encoded.
        public var name: String
        /// The value, not encoded; `nil` also omits the `=`.
        public var value: String?

        /// Creates a parameter.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters.
    public var items: [Item]

    /// Creates a list of parameters.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Creates a list from a literal; a `nil` value results in a name without `=`.
    public init(
        dictionaryLiteral elements: (String, (any LosslessStringConvertible & Sendable)?)...
    ) {
        items = elements.map { name, value in Item(name, value.map { $0.description }) }
    }

    /// Creates a list from Foundation's parameters, in their order.
    public init(_ items: [URLQueryItem]) {
        self.items = items.map { Item($0.name, $0.value) }
    }

    /// Appends a parameter.
    public mutating func append(_ name: String, _ value: String?) {
        items.append(Item(name, value))
    }

    /// Encodes the parameters for encoders other than `URLFormEncoder`; the last of several equal names is
    /// kept.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(
            Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        )
    }
}
