import Bytes

/// A map of the configuration, read by typed keys.
///
/// Accessors report invalid values and return the default, so that one pass finds all errors.
struct Section<Key: SectionKey> {
    let reading: Reading
    let path: String
    /// The position of the map's key, used for errors about missing keys.
    let position: Position
    private var values: [Key: ConfigNode] = [:]
    /// Whether the value is a map or missing; otherwise, that is reported instead of missing keys.
    private var isReadable = true

    /// Reads a map; if it is missing or null, it has no keys.
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
                    at: Place(
                        position: entry.keyPosition,
                        key: "\(path.isEmpty ? "" : "\(path).")\(ConfigNode.keyName(entry.key))"
                    )
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

    /// The place for an error about a key: its value, or the map if the key is missing.
    func place(of key: Key) -> Place {
        self[key]?.place ?? Place(position: position, key: path(of: key))
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

    /// Reports a missing key, unless only the defaults are read.
    func require(_ key: Key, _ message: String = "required") {
        guard isReadable else { return }
        reading.require(message, at: Place(position: position, key: path(of: key)))
    }

    private static func unknown(_ key: String) -> String {
        if key == "<<" { return "merge keys are not supported, use defaults" }
        let nearest = NearestKey.of(key, among: Key.allCases.map(\.rawValue)) ?? ""
        return "unknown key, did you mean '\(nearest)'?"
    }
}
