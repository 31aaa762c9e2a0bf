/// The errors and mentions collected in one pass over a configuration.
///
/// Used within one call of ``ConfigurationLoader``, hence not `Sendable`.
final class Reading {
    let file: String
    private(set) var errors: Set<ConfigurationError> = []
    private(set) var mentions: [Mention] = []
    /// Whether missing keys are errors: if only the defaults are read, a channel may supply them.
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
        report(message, at: node.place)
    }

    func report(_ message: String, at place: Place) {
        // A set: an error in the defaults occurs in every channel, with the same position.
        errors.insert(
            ConfigurationError(
                file: file,
                position: place.position,
                key: place.key,
                message: message
            )
        )
    }

    /// Reports an error that only a complete channel can have.
    func require(_ message: String, at place: Place) {
        guard case .whole = completeness else { return }
        report(message, at: place)
    }

    func mention(_ resource: Mention.Resource, at node: ConfigNode) {
        mentions.append(Mention(resource: resource, position: node.position, key: node.path))
    }
}
