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

/// A file or a secret that a configuration names, and where it does.
package struct Mention: Sendable, Hashable {
    package var resource: Resource
    package var position: Position
    package var key: String

    /// What is named, which decides how it is checked.
    package enum Resource: Sendable, Hashable {
        case secret(SecretReference)
        /// A secret that ends a header field, behind this text.
        case fieldValue(SecretReference, behind: String)
        /// A private key in PEM.
        case signingKey(SecretReference)
        /// The JSON key file of a service account.
        case serviceAccount(SecretReference)
        /// The key that token files are sealed with.
        case stateKey(SecretReference)
        /// The absolute path of a PEM file with the roots to trust.
        case authorities(String)
        /// The absolute path of a PEM file.
        case certificates(String)
        /// Two PEM files that must fit each other.
        case clientCertificate(UpstreamTLS.ClientCertificate)
        /// The absolute path of a directory that may not exist yet.
        case directory(String)
        /// The absolute path of a file with the content of a sample answer.
        case sample(String)
        /// The absolute path of the journal's socket.
        case journal(String)
    }
}
