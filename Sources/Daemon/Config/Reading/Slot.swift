/// A key in a map of the file: its written value, if any, and the place for errors about it.
struct Slot {
    /// The key's name.
    let name: String
    /// The written value; nil if the key is absent or null.
    let node: ConfigNode?
    /// The key path of the map.
    let parent: String
    /// The position of the map's key, for errors about a missing key.
    let position: Position
    let reading: Reading
    let absence: Absence

    /// The meaning of a missing key.
    enum Absence {
        case missing
        /// An unknown key is probably a misspelling of this one; that is reported instead.
        case misspelt
        /// The value is not a map; that is reported instead.
        case unreadable
    }

    var isWritten: Bool { node != nil }

    /// Whether the key is neither written nor misspelled.
    var isMissing: Bool {
        guard !isWritten else { return false }
        if case .misspelt = absence { return false }
        return true
    }

    /// Whether the value is `off`, quoted or not.
    var isOff: Bool { text == "off" }

    /// The value, if it is a scalar.
    var text: String? { node?.text }

    /// The items of a list, or a single value.
    var items: [ConfigNode] { node.map { $0.items ?? [$0] } ?? [] }

    var path: String { parent.isEmpty ? name : "\(parent).\(name)" }

    /// The place for an error about the key: its value, or the map if the key is missing.
    var place: Place { node?.place ?? Place(position: position, key: path) }

    /// Reports an error at the value.
    func report(_ message: String) { reading.report(message, at: place) }

    /// Reports a written value without meaning here.
    func refuse(_ message: String) {
        if let node { reading.report(message, at: node) }
    }

    /// Reports a missing key, unless it is misspelled or only the defaults are read.
    func require(_ message: String = "required") {
        guard case .missing = absence else { return }
        reading.require(message, at: Place(position: position, key: path))
    }

    /// Reports the key as required if it has no written value.
    func requireWritten(_ message: String = "required") {
        if !isWritten { require(message) }
    }

    /// Adds the written value to the files and secrets that the daemon checks.
    func mention(_ resource: Mention.Resource) {
        if let node { reading.mention(resource, at: node) }
    }

    /// Returns the slot with its default instead of a value.
    func with(_ preset: Preset) -> Slot { with(preset.node(path: path, position: position)) }

    /// Returns the slot with an item of the value, or with another value instead of the written one.
    func with(_ node: ConfigNode) -> Slot {
        Slot(
            name: name,
            node: node,
            parent: parent,
            position: position,
            reading: reading,
            absence: absence
        )
    }
}
