extension WrittenValues {
    /// Adds a value and all below it.
    mutating func add(_ node: ConfigNode, at path: String, _ rule: KeyRule) {
        switch node.content {
        case .null: return
        case .scalar(let text): set(path, to: shown(text), isPrivate: rule.isPrivate)
        case .list(let items):
            let texts = items.compactMap(\.text)
            if texts.count == items.count {
                let text = "[\(texts.map(shown).joined(separator: ", "))]"
                set(path, to: text, isPrivate: rule.isPrivate)
            } else {
                for (index, item) in items.enumerated() {
                    add(item, at: "\(path)[\(index)]", rule.item)
                }
            }
        case .map(let entries):
            for entry in entries {
                add(
                    entry.value,
                    at: "\(path).\(ConfigNode.keyName(entry.key))",
                    rule.child(entry.key)
                )
            }
        }
    }

    /// The text; of a URL, without its query.
    private func shown(_ text: String) -> String {
        ConfigNode.printable(
            text.contains("://") ? String(text.prefix { $0 != "?" }) : text
        )
    }
}

extension KeyRule {
    /// Whether a value may be a credential.
    fileprivate var isPrivate: Bool {
        switch self {
        case .secret, .opaque: true
        case .list(let rule), .named(let rule): rule.isPrivate
        case .either(let rules):
            rules.contains { rule in
                // A scalar where a map may be too is judged by the other rules.
                if case .map = rule { false } else { rule.isPrivate }
            }
        case .text, .flag, .duration, .size, .url, .path, .share, .number, .choice, .value: false
        // In place of a map, anything may stand.
        case .map, .records: true
        }
    }

    /// The rule of a list's item.
    fileprivate var item: KeyRule {
        if case .list(let rule) = self { rule } else { .opaque }
    }

    /// The rule of a key of the map.
    fileprivate func child(_ key: String) -> KeyRule {
        switch self {
        case .map(let keys): Self.rule(of: key, keys) ?? .opaque
        case .records(let keys): .map(keys)
        case .named(let rule): rule
        case .either(let rules):
            rules.first { if case .map = $0 { true } else { false } }?.child(key) ?? .opaque
        default: .opaque
        }
    }

    private static func rule<Key: RuledKey>(of key: String, _: Key.Type) -> KeyRule? {
        Key(rawValue: key)?.rule
    }
}
