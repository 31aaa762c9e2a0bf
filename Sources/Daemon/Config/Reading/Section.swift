import NetproxyBytes

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
    /// The keys that unknown ones were probably meant to be; their absence is not reported too.
    private(set) var misspelt: Set<Key> = []

    /// Reads a map; if it is missing or null, it has no keys.
    init(_ node: ConfigNode?, path: String, position: Position, in reading: Reading) {
        self.reading = reading
        self.path = path
        self.position = position
        guard let node, !node.isNull else { return }
        guard let entries = node.entries else {
            let example = Key.example.map { ", such as \($0)" } ?? ""
            reading.report("expected a map\(example), found \(node.kind)", at: node)
            isReadable = false
            return
        }
        for entry in entries {
            if let key = Key(rawValue: entry.key) {
                values[key] = entry.value
            } else {
                let meant = NearestKey.likely(entry.key, among: Key.allCases.map(\.rawValue))
                if let key = meant.flatMap(Key.init) { misspelt.insert(key) }
                reading.report(
                    Self.unknown(entry.key, meant: meant),
                    at: Place(
                        position: entry.keyPosition,
                        key: "\(path.isEmpty ? "" : "\(path).")\(ConfigNode.keyName(entry.key))"
                    )
                )
            }
        }
    }

    /// The same map with the keys of another list, by their names; keys that it lacks are left out.
    init<Other: SectionKey>(renaming other: Section<Other>) {
        reading = other.reading
        path = other.path
        position = other.position
        isReadable = other.isReadable
        for (key, node) in other.values {
            if let key = Key(rawValue: key.rawValue) { values[key] = node }
        }
        misspelt = Set(other.misspelt.compactMap { Key(rawValue: $0.rawValue) })
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

    /// Whether a key is neither there nor misspelt.
    func lacks(_ key: Key) -> Bool { self[key] == nil && !misspelt.contains(key) }

    /// Reports a missing key, unless it is misspelt or only the defaults are read.
    func require(_ key: Key, _ message: String = "required") {
        guard isReadable, !misspelt.contains(key) else { return }
        reading.require(message, at: Place(position: position, key: path(of: key)))
    }

    private static func unknown(_ key: String, meant: String?) -> String {
        if key == "<<" { return "merge keys are not supported, use defaults" }
        if let objection = Key.objection(to: key) { return objection }
        if let meant { return "unknown key, did you mean '\(meant)'?" }
        let known = Key.allCases.map(\.rawValue)
        // A longer list is easier to read in the example file.
        return known.count > 8 ? "unknown key" : "unknown key, expected \(known.alternatives)"
    }
}
