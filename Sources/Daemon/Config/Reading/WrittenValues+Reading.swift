extension WrittenValues {
    /// Adds a value and all values below it.
    mutating func add(_ node: ConfigNode, at path: String, _ shape: Shape) {
        switch node.content {
        case .null: return
        case .scalar(let text): set(path, to: shown(text), of: shape)
        case .list(let items):
            let texts = items.compactMap(\.text)
            if texts.count == items.count {
                let text = "[\(texts.map(shown).joined(separator: ", "))]"
                set(path, to: text, of: shape)
            } else {
                for (index, item) in items.enumerated() {
                    add(item, at: "\(path)[\(index)]", shape.item)
                }
            }
        case .map(let entries):
            for entry in entries {
                add(
                    entry.value,
                    at: "\(path).\(ConfigNode.keyName(entry.key))",
                    shape.child(entry.key)
                )
            }
        }
    }

    /// Returns the text; for a URL, without its query.
    private func shown(_ text: String) -> String {
        ConfigNode.printable(
            text.contains("://") ? String(text.prefix { $0 != "?" }) : text
        )
    }
}
