/// What one pass over a configuration collects on its way.
///
/// Lives within one call of ``ConfigurationLoader``, hence not `Sendable`.
final class Reading {
    let file: String
    private(set) var errors: Set<ConfigurationError> = []
    private(set) var mentions: [Mention] = []
    /// While the defaults are read by themselves, what is missing may yet come from a channel.
    let completeness: Completeness

    enum Completeness {
        case whole
        case fragment
    }

    init(file: String, completeness: Completeness) {
        self.file = file
        self.completeness = completeness
    }

    func report(_ message: String, at node: ConfigNode) {
        report(message, at: node.position, key: node.path)
    }

    func report(_ message: String, at position: Position, key: String) {
        // A set: a fault in the defaults shows up in every channel, with the same position.
        errors.insert(
            ConfigurationError(file: file, position: position, key: key, message: message)
        )
    }

    /// Reports what only a complete channel can get wrong.
    func require(_ message: String, at position: Position, key: String) {
        guard case .whole = completeness else { return }
        report(message, at: position, key: key)
    }

    func mention(_ resource: Mention.Resource, at node: ConfigNode) {
        mentions.append(Mention(resource: resource, position: node.position, key: node.path))
    }
}
