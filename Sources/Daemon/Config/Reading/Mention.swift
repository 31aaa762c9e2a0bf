package import NetproxySettings

/// A file or secret named in a configuration, and its position.
package struct Mention: Sendable, Hashable {
    package var resource: Resource
    package var position: Position
    package var key: String

    /// The kind of file or secret, which determines how it is checked.
    package enum Resource: Sendable, Hashable {
        case secret(SecretReference)
        /// A secret sent in a header field after this text.
        case fieldValue(SecretReference, after: String)
        /// A private key in PEM.
        case signingKey(SecretReference)
        /// A private key in PEM for this algorithm, or for any.
        case jwtKey(SecretReference, SignatureAlgorithm?)
        /// A key shared with the API, in this notation.
        case sharedKey(SecretReference, SharedKeyEncoding)
        /// The JSON key file of a service account.
        case serviceAccount(SecretReference)
        /// The key that encrypts token files.
        case stateKey(SecretReference)
        /// The absolute path of a PEM file with trusted roots.
        case authorities(String)
        /// The absolute path of a PEM file.
        case certificates(String)
        /// A certificate and its key, which must match.
        case clientCertificate(TLSDemands.ClientCertificate)
        /// The absolute path of a directory that may not exist yet.
        case directory(String)
        /// The absolute path of a file with the body of a stub's response.
        case sample(String)
        /// The absolute path of the journal's socket.
        case journal(String)
        /// The agent of a container's platform, named in the environment.
        case containerAgent
    }
}
