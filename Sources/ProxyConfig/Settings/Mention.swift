/// A file or a secret that a configuration names, and where it does.
package struct Mention: Sendable, Hashable {
    package var resource: Resource
    package var position: Position
    package var key: String

    /// What is named, which decides how it is checked.
    package enum Resource: Sendable, Hashable {
        case secret(SecretReference)
        /// A secret that ends a header field, behind this text.
        case fieldValue(SecretReference, after: String)
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
