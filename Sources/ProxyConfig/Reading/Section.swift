import Bytes

/// One map of the configuration, read by typed key.
///
/// Every accessor reports what it does not understand and then returns the default, so that one
/// pass finds all errors.
struct Section<Key: SectionKey> {
    let reading: Reading
    let path: String
    /// Where the key of the map stands: the place of errors about what the map lacks.
    let position: Position
    private var values: [Key: ConfigNode] = [:]
    /// Whether there is a map, or nothing in its place: of anything else that is the error.
    private var isReadable = true

    /// Reads a map; a missing or null one has no keys.
    init(_ node: ConfigNode?, path: String, position: Position, in reading: Reading) {
        self.reading = reading
        self.path = path
        self.position = position
        guard let node, !node.isNull else { return }
        guard let entries = node.entries else {
            reading.report("expected a map, found \(node.kind)", at: node)
            isReadable = false
            return
        }
        for entry in entries {
            if let key = Key(rawValue: entry.key) {
                values[key] = entry.value
            } else {
                reading.report(
                    Self.unknown(entry.key),
                    at: entry.keyPosition,
                    key: "\(path.isEmpty ? "" : "\(path).")\(ConfigNode.keyName(entry.key))"
                )
            }
        }
    }

    /// The value of a key; nil when it is absent or null.
    subscript(key: Key) -> ConfigNode? {
        values[key].flatMap { $0.isNull ? nil : $0 }
    }

    func path(of key: Key) -> String {
        path.isEmpty ? key.rawValue : "\(path).\(key.rawValue)"
    }

    /// Where an error about a key goes: to its value, or to the map that lacks it.
    func place(of key: Key) -> (position: Position, key: String) {
        guard let node = self[key] else { return (position, path(of: key)) }
        return (node.position, node.path)
    }

    func section<Child: SectionKey>(_ key: Key, _: Child.Type) -> Section<Child> {
        let node = self[key]
        return Section<Child>(
            node,
            path: node?.path ?? path(of: key),
            position: node?.keyPosition ?? position,
            in: reading
        )
    }

    /// Reports that a key is missing, unless the map is only a fragment.
    func require(_ key: Key, _ message: String = "required") {
        guard isReadable else { return }
        reading.require(message, at: position, key: path(of: key))
    }

    private static func unknown(_ key: String) -> String {
        if key == "<<" { return "merge keys are not supported, use defaults" }
        let nearest = NearestKey.of(key, among: Key.allCases.map(\.rawValue)) ?? ""
        return "unknown key, did you mean '\(nearest)'?"
    }
}
