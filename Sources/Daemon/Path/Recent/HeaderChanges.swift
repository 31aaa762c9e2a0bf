import NetproxyConfig
import NetproxyHTTPMessage

/// The names of the fields that changed between the client's request and the upstream request; values are
/// never recorded.
struct HeaderChanges {
    private(set) var added: [String] = []
    private(set) var replaced: [String] = []
    private(set) var removed: [String] = []
    private var present: Set<HTTPFieldName>
    private let rare: [HTTPFieldName]

    /// Compares the upstream request with the client's, and applies the channel's rules to the difference.
    init(_ exchange: RecentExchange, rules: EditedFields?) {
        rare = rules?.rare ?? []
        present = Set(
            KnownField.allCases.filter { exchange.fields.contains($0) }.map(HTTPFieldName.init)
        )
        for (index, name) in rare.prefix(64).enumerated()
        where exchange.rareFields & (1 << UInt64(index)) != 0 {
            present.insert(name)
        }
        for field in KnownField.allCases {
            let name = HTTPFieldName(known: field)
            switch (exchange.fields.contains(field), exchange.forwarded.contains(field)) {
            case (true, false): remove(name)
            case (false, true): add(name)
            default: break
            }
        }
        guard let rules else { return }
        for name in rules.removed { remove(name) }
        for name in rules.defaults where !present.contains(name) { add(name) }
        for name in rules.replaced {
            if present.contains(name) { replaced.append(name.text) } else { add(name) }
        }
    }

    private mutating func add(_ name: HTTPFieldName) {
        added.append(name.text)
        present.insert(name)
    }

    private mutating func remove(_ name: HTTPFieldName) {
        if present.remove(name) != nil { removed.append(name.text) }
    }
}
