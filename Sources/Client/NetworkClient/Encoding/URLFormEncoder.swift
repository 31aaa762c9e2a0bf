import FoundationEssentials

/// Encodes values as the parameters of a query or of a form.
///
/// Fields keep the order in which their type encodes them; dictionaries are sorted by key. `nil` values are
/// omitted. Data is encoded as base64.
///
/// | value | default | other styles |
/// | --- | --- | --- |
/// | `["a", "b"]` for `tag` | `tag=a&tag=b` | `tag[]=a&tag[]=b`, `tag[0]=a&tag[1]=b`, `tag=a,b` |
/// | `true` | `true` | `1` |
/// | a date | `2026-11-21T06:00:00Z` | seconds or milliseconds since 1970 |
/// | `pageSize` | `pageSize` | `page_size`, `page-size` |
/// | `a` inside of `filter` | `filter[a]` | `filter.a` |
public struct URLFormEncoder: Sendable, Hashable {
    /// The form of a list.
    public enum Lists: Sendable, Hashable, CaseIterable {
        /// `tag=a&tag=b`; unlike `indices`, it does not show which nested values belong together.
        case repeated
        /// `tag[]=a&tag[]=b`
        case brackets
        /// `tag[0]=a&tag[1]=b`
        case indices
        /// `tag=a,b`; only for lists of plain values without commas.
        case commas
    }

    /// The form of a Boolean value.
    public enum Bools: Sendable, Hashable, CaseIterable {
        /// `true` and `false`
        case words
        /// `1` and `0`
        case digits
    }

    /// The form of a date.
    public enum Dates: Sendable, Hashable, CaseIterable {
        /// `2026-11-21T06:00:00Z` (RFC 3339), in whole seconds.
        case iso8601
        /// Seconds since 1970, with a fraction if it is not zero.
        case seconds
        /// Milliseconds since 1970, rounded down.
        case milliseconds
    }

    /// The form of field names.
    public enum Keys: Sendable, Hashable, CaseIterable {
        /// Unchanged names.
        case unchanged
        /// `pageSize` as `page_size`.
        case snakeCase
        /// `pageSize` as `page-size`.
        case kebabCase
    }

    /// The name of a field in a nested value.
    public enum Nesting: Sendable, Hashable, CaseIterable {
        /// `filter[a]`
        case brackets
        /// `filter.a`
        case dots
    }

    /// The form of a list.
    ///
    /// Default `repeated`.
    public var lists: Lists
    /// The form of a Boolean value.
    ///
    /// Default `words`.
    public var bools: Bools
    /// The form of a date.
    ///
    /// Default `iso8601`.
    public var dates: Dates
    /// The form of field names.
    ///
    /// Default `unchanged`.
    public var keys: Keys
    /// The name of a field in a nested value.
    ///
    /// Default `brackets`.
    public var nesting: Nesting

    /// Creates an encoder.
    public init(
        lists: Lists = .repeated,
        bools: Bools = .words,
        dates: Dates = .iso8601,
        keys: Keys = .unchanged,
        nesting: Nesting = .brackets
    ) {
        self.lists = lists
        self.bools = bools
        self.dates = dates
        self.keys = keys
        self.nesting = nesting
    }

    /// Returns the parameters of a value, not percent-encoded yet.
    ///
    /// - Throws: `EncodingError` if the value is not a set of named parameters, and the errors of the value.
    public func items(_ value: any Encodable) throws -> QueryItems {
        if let items = value as? QueryItems { return items }
        let tree = try ValueTree(encoding: value)
        guard case .map(let fields) = tree else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [],
                    debugDescription: "a query is made of named parameters"
                )
            )
        }
        var items = QueryItems()
        for (name, field) in fields { try append(field, named: spelled(name), to: &items) }
        return items
    }

    /// Returns a query without its `?`; a space is `%20`.
    ///
    /// - Throws: the errors of `items(_:)`.
    public func query(_ value: any Encodable) throws -> String {
        try text(value, PercentEncoding.unreserved)
    }

    /// Returns content of type `application/x-www-form-urlencoded`; a space is `+`.
    ///
    /// - Throws: the errors of `items(_:)`.
    public func form(_ value: any Encodable) throws -> String {
        try text(value, PercentEncoding.form)
    }

    private func text(_ value: any Encodable, _ encode: (String) -> String) throws -> String {
        try items(value).items.map { item in
            guard let value = item.value else { return encode(item.name) }
            return "\(encode(item.name))=\(encode(value))"
        }.joined(separator: "&")
    }

    private func append(
        _ tree: ValueTree,
        named name: String,
        to items: inout QueryItems
    ) throws {
        switch tree {
        case .null: break
        case .map(let fields):
            for (key, field) in fields {
                let key = spelled(key)
                try append(
                    field,
                    named: nesting == .dots ? "\(name).\(key)" : "\(name)[\(key)]",
                    to: &items
                )
            }
        case .list(let list):
            let elements = list.filter { if case .null = $0 { false } else { true } }
            switch lists {
            case .commas:
                guard !elements.isEmpty else { break }
                let texts = try elements.map { try plain($0, name) }
                guard !texts.contains(where: { $0.contains(",") }) else {
                    throw URLFormEncoder.ambiguous(name, "a list with commas holds no commas")
                }
                items.append(name, texts.joined(separator: ","))
            case .repeated:
                for element in elements { try append(element, named: name, to: &items) }
            case .brackets:
                for element in elements { try append(element, named: "\(name)[]", to: &items) }
            case .indices:
                for (index, element) in elements.enumerated() {
                    try append(element, named: "\(name)[\(index)]", to: &items)
                }
            }
        default: items.append(name, try plain(tree, name))
        }
    }

    private func plain(_ tree: ValueTree, _ name: String) throws -> String {
        switch tree {
        case .null: return ""
        case .text(let text): return text
        case .bool(let value):
            return bools == .digits ? (value ? "1" : "0") : value ? "true" : "false"
        case .date(let date): return text(of: date)
        case .list, .map:
            throw URLFormEncoder.ambiguous(name, "a list with commas holds plain values only")
        }
    }

    private static func ambiguous(_ name: String, _ reason: String) -> EncodingError {
        EncodingError.invalidValue(
            name,
            EncodingError.Context(codingPath: [], debugDescription: reason)
        )
    }

    private func text(of date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        switch dates {
        case .iso8601: return date.formatted(.iso8601)
        case .seconds:
            return seconds == seconds.rounded() && abs(seconds) < 1e15
                ? String(Int64(seconds)) : String(seconds)
        case .milliseconds:
            let milliseconds = (seconds * 1000).rounded(.down)
            return abs(milliseconds) < 1e18 ? String(Int64(milliseconds)) : String(milliseconds)
        }
    }

    private func spelled(_ name: String) -> String {
        switch keys {
        case .unchanged: name
        case .snakeCase: URLFormEncoder.separated(name, by: "_")
        case .kebabCase: URLFormEncoder.separated(name, by: "-")
        }
    }

    /// Separates the words of a name: `pageSize` becomes `page_size`, `apiURLPath` becomes `api_url_path`.
    private static func separated(_ name: String, by separator: Character) -> String {
        let letters = Array(name)
        var result = ""
        for (index, letter) in letters.enumerated() {
            let isStart =
                letter.isUppercase && index > 0 && letters[index - 1] != separator
                && (!letters[index - 1].isUppercase
                    || index + 1 < letters.count && letters[index + 1].isLowercase)
            if isStart { result.append(separator) }
            result += letter.lowercased()
        }
        return result
    }
}
