import NetproxyBytes

/// A map of the configuration, read by its declared keys: `retry[\.attempts]` is the value, `retry.attempts`
/// the slot, which contains the place for errors.
///
/// Reading an invalid value reports it and returns the default, so that one pass finds all errors.
@dynamicMemberLookup
struct Section<Keys: SectionKeys> {
    let reading: Reading
    let keyPath: String
    /// The position of the map's key, used for errors about missing keys.
    let position: Position
    private var nodes: [String: ConfigNode] = [:]
    /// Whether the value is a map or missing; any other value is reported instead of missing keys.
    private var isReadable = true
    /// The probable correct names of unknown keys; their absence is not reported as well.
    private var misspelt: Set<String> = []

    /// Creates a section from the map in a slot.
    init(_ slot: Slot) {
        self.init(
            slot.node,
            path: slot.node?.path ?? slot.path,
            position: slot.node?.keyPosition ?? slot.position,
            in: slot.reading
        )
    }

    /// Creates a section from a map; a missing or null map has no keys.
    init(_ node: ConfigNode?, path: String, position: Position, in reading: Reading) {
        self.reading = reading
        self.keyPath = path
        self.position = position
        guard let node, !node.isNull else { return }
        guard let entries = node.entries else {
            let example = Keys.example.map { ", such as \($0)" } ?? ""
            reading.report("expected a map\(example), found \(node.kind)", at: node)
            isReadable = false
            return
        }
        let known = Keys.table.names
        for entry in entries {
            guard !known.contains(entry.key) else {
                nodes[entry.key] = entry.value.isNull ? nil : entry.value
                continue
            }
            let meant = NearestKey.likely(entry.key, among: known)
            if let expected = Keys.home(of: entry.key) ?? meant { misspelt.insert(expected) }
            reading.report(
                Self.unknown(entry.key, meant: meant),
                at: Place(
                    position: entry.keyPosition,
                    key: "\(path.isEmpty ? "" : "\(path).")\(ConfigNode.keyName(entry.key))"
                )
            )
        }
    }

    private init<Other>(_ other: Section<Other>) {
        (reading, keyPath, position) = (other.reading, other.keyPath, other.position)
        (nodes, isReadable, misspelt) = (other.nodes, other.isReadable, other.misspelt)
    }

    /// Returns the value of a key, or its default.
    subscript<Value>(key: KeyPath<Keys, Key<Value>>) -> Value {
        self[Keys.table.keys[keyPath: key]]
    }

    /// Returns the value of a key, or its default.
    subscript<Value>(key: Key<Value>) -> Value { key.value(in: slot(key.name)) }

    /// Returns the slot of a key.
    subscript<Value>(dynamicMember key: KeyPath<Keys, Key<Value>>) -> Slot {
        slot(Keys.table.keys[keyPath: key].name)
    }

    /// Returns the slot of the key with a name.
    func slot(_ name: String) -> Slot {
        Slot(
            name: name,
            node: nodes[name],
            parent: keyPath,
            position: position,
            reading: reading,
            absence: !isReadable ? .unreadable : misspelt.contains(name) ? .misspelt : .missing
        )
    }

    /// Returns the same map, read by the keys of a group.
    func group<Group: SectionKeys>(_: KeyPath<Keys, Group>) -> Section<Group> {
        Section<Group>(self)
    }

    private static func unknown(_ key: String, meant: String?) -> String {
        if key == "<<" { return "merge keys are not supported, use defaults" }
        if let objection = Keys.objection(to: key) { return objection }
        if let meant { return "unknown key, did you mean '\(meant)'?" }
        let known = Keys.table.names
        // A longer list is easier to read in the example file.
        return known.count > 8 ? "unknown key" : "unknown key, expected \(known.alternatives)"
    }
}
