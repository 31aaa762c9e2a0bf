public import FoundationEssentials

/// Parameters in their order, as a query or a form names them; a name may come twice.
///
/// A literal is enough, with texts, numbers and truth values: `["page": 2, "sort": "name"]`. Use a struct of
/// your own where values are dates or lists.
public struct QueryItems: Sendable, Hashable, Encodable, ExpressibleByDictionaryLiteral {
    /// One parameter.
    public struct Item: Sendable, Hashable {
        /// The name, not encoded.
        public var name: String
        /// The value, not encoded; `nil` leaves out the `=` too.
        public var value: String?

        /// Makes a parameter.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The parameters.
    public var items: [Item]

    /// Makes a list of parameters.
    public init(_ items: [Item] = []) {
        self.items = items
    }

    /// Makes a list from a literal; a `nil` value makes a name without `=`.
    public init(
        dictionaryLiteral elements: (String, (any LosslessStringConvertible & Sendable)?)...
    ) {
        items = elements.map { name, value in Item(name, value.map { $0.description }) }
    }

    /// Takes over Foundation's parameters, in their order.
    public init(_ items: [URLQueryItem]) {
        self.items = items.map { Item($0.name, $0.value) }
    }

    /// Adds a parameter after the others.
    public mutating func append(_ name: String, _ value: String?) {
        items.append(Item(name, value))
    }

    /// Encodes the parameters for other encoders than `URLFormEncoder`; of a name that comes twice
    /// the last one stays.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(
            Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        )
    }
}
