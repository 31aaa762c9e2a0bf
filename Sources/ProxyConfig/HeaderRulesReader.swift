import HTTPMessage

/// Reads the header fields that a channel adds, replaces and removes.
struct HeaderRulesReader {
    let section: Section<HeadersKey>

    func rules() -> HeaderRules {
        HeaderRules(
            defaults: Self.fields(section[.default], in: section.reading),
            set: Self.fields(section[.set], in: section.reading),
            remove: section.list(.remove, of: "a header name") { Grammar.isToken($0) ? $0 : nil }
                .filter { Self.allowed($0, at: removed($0), in: section.reading) }
        )
    }

    /// Whether netproxy writes the field itself, because it describes one connection or message.
    static func isReserved(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasPrefix("proxy-") || reserved.contains(name)
    }

    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "via",
    ]

    /// Reads a map of names and values.
    static func fields(_ node: ConfigNode?, in reading: Reading) -> [HeaderField] {
        guard let node else { return [] }
        guard let entries = node.entries else {
            reading.report("expected a map of header names, found \(node.found)", at: node)
            return []
        }
        var fields: [HeaderField] = []
        var names: Set<String> = []
        // A null value takes a default away again.
        for entry in entries where !entry.value.isNull {
            let place = (position: entry.keyPosition, key: entry.value.path)
            guard Grammar.isToken(entry.key) else {
                reading.report(
                    "not a header name",
                    at: place.position,
                    key: ConfigNode.printable(entry.value.path)
                )
                continue
            }
            guard allowed(entry.key, at: place, in: reading) else { continue }
            guard names.insert(entry.key.lowercased()).inserted else {
                reading.report(
                    "the same header twice, names ignore case",
                    at: place.position,
                    key: place.key
                )
                continue
            }
            // Not `found`: a value may be a credential.
            guard let value = entry.value.text, Grammar.isFieldValue(value) else {
                reading.report(
                    "expected a header value without control characters or blanks at its ends",
                    at: entry.value
                )
                continue
            }
            fields.append(HeaderField(name: entry.key, value: value))
        }
        return fields
    }

    private static func allowed(
        _ name: String,
        at place: (position: Position, key: String),
        in reading: Reading
    ) -> Bool {
        guard isReserved(name) else { return true }
        reading.report(
            "netproxy itself writes \(name)",
            at: place.position,
            key: place.key
        )
        return false
    }

    private func removed(_ name: String) -> (position: Position, key: String) {
        let items = section[.remove].map { $0.items ?? [$0] } ?? []
        let item = items.first { $0.text == name }
        return item.map { ($0.position, $0.path) } ?? section.place(of: .remove)
    }
}
