import NetproxyHTTPMessage

/// Reads the header fields that a channel adds, replaces and removes.
struct HeaderRulesReader {
    let section: Section<HeadersKey>

    func rules() -> HeaderRules {
        for node in [section[.default], section[.set]] { refuseSecrets(in: node) }
        return HeaderRules(
            defaults: Self.fields(section[.default], in: section.reading),
            set: Self.fields(section[.set], in: section.reading),
            secrets: secrets(),
            remove: section.list(.remove, of: "a header name") { Grammar.isToken($0) ? $0 : nil }
                .filter { Self.allowed($0, at: removed($0), in: section.reading) },
            via: section.choice(.via, default: .auto)
        )
    }

    /// Whether the field describes a connection or message, so that netproxy sets it itself.
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
        named(node, in: reading) { name, value in
            // Not `found`: a value may be a credential.
            guard let text = value.text, Grammar.isFieldValue(text) else {
                reading.report(
                    "expected a header value without control characters or leading or trailing spaces",
                    at: value
                )
                return nil
            }
            return HeaderField(name: name, value: text)
        }
    }

    /// The fields with secret values, except those that another rule also sets.
    private func secrets() -> [HeaderSecret] {
        let ruled = [section[.default], section[.set]].flatMap { $0?.entries ?? [] }
        let taken = Set(ruled.filter { !$0.value.isNull }.map { $0.key.lowercased() })
        return Self.named(section[.secret], in: section.reading) { name, value in
            guard !taken.contains(name.lowercased()) else {
                section.reading.report("the same header is under default or set", at: value)
                return nil
            }
            guard let reference = section.reading.secret(value) else { return nil }
            section.reading.mention(.fieldValue(reference, after: ""), at: value)
            return HeaderSecret(name: name, value: reference)
        }
    }

    /// Refuses references to secrets, which would be sent as they are written.
    private func refuseSecrets(in node: ConfigNode?) {
        for entry in node?.entries ?? [] {
            switch entry.value.text.flatMap(SecretReference.init(text:)) {
            case .file, .exec:
                section.reading.report(
                    "a secret is not read here, use headers.secret",
                    at: entry.value
                )
            default: break
            }
        }
    }

    /// Reads a map of header names with a reader for the values.
    static func named<Value>(
        _ node: ConfigNode?,
        in reading: Reading,
        _ read: (_ name: String, _ value: ConfigNode) -> Value?
    ) -> [Value] {
        guard let node else { return [] }
        guard let entries = node.entries else {
            reading.report("expected a map of header names, found \(node.kind)", at: node)
            return []
        }
        var fields: [Value] = []
        var names: Set<String> = []
        // A null value removes a default.
        for entry in entries where !entry.value.isNull {
            guard Grammar.isToken(entry.key) else {
                let key = "\(node.path).\(ConfigNode.keyName(entry.key))"
                reading.report(
                    "not a header name",
                    at: Place(position: entry.keyPosition, key: key)
                )
                continue
            }
            guard allowed(entry.key, at: entry.place, in: reading) else { continue }
            guard names.insert(entry.key.lowercased()).inserted else {
                reading.report("duplicate header, names are not case-sensitive", at: entry.place)
                continue
            }
            if let field = read(entry.key, entry.value) { fields.append(field) }
        }
        return fields
    }

    private static func allowed(
        _ name: String,
        at place: Place,
        in reading: Reading
    ) -> Bool {
        guard isReserved(name) else { return true }
        reading.report("netproxy sets \(name) itself", at: place)
        return false
    }

    private func removed(_ name: String) -> Place {
        let items = section[.remove].map { $0.items ?? [$0] } ?? []
        let item = items.first { $0.text == name }
        return item?.place ?? section.place(of: .remove)
    }
}
