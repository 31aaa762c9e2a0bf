/// The errors and mentions collected in one pass over a configuration.
///
/// Used within one call of ``ConfigurationLoader``, hence not `Sendable`.
final class Reading {
    /// The names of the files: the main one, then the included ones.
    private(set) var files: [String]
    private(set) var errors: Set<ConfigurationError> = []
    private(set) var mentions: [Mention] = []
    /// Whether missing keys are errors; they are not in a reading of only the defaults, since a channel may
    /// supply them.
    let completeness: Completeness

    enum Completeness {
        case whole
        case fragment
    }

    init(files: [String], completeness: Completeness) {
        self.files = files
        self.completeness = completeness
    }

    /// Adds an included file.
    ///
    /// - Returns: the ``Position/source`` of its values.
    func add(file: String) -> Int {
        files.append(file)
        return files.count - 1
    }

    /// Adds errors found outside of this pass.
    func add(_ errors: some Sequence<ConfigurationError>) { self.errors.formUnion(errors) }

    func report(_ message: String, at node: ConfigNode) {
        report(message, at: node.place)
    }

    func report(_ message: String, at place: Place) {
        // The errors are a set: an error in the defaults occurs in every channel, with the same position.
        errors.insert(
            ConfigurationError(
                file: files[place.position.source],
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
