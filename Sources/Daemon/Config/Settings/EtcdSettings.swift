package import NetproxyHTTPMessage

/// An etcd cluster that keeps the tokens of many machines.
package struct EtcdSettings: Sendable, Equatable {
    /// The default of `prefix`.
    package static let defaultPrefix = "/netproxy/"

    /// The client URLs of the members.
    package var endpoints: [Origin]
    /// The beginning of all keys.
    package var prefix: String
    /// The absolute path of a PEM file with the roots to trust; nil: the system's.
    package var authorities: String?
    package var clientCertificate: UpstreamTLS.ClientCertificate?
    /// The name of etcd's own user, and where its password is.
    package var user: String?
    package var password: SecretReference?

    /// Whether a text can be the prefix: a role for it must not cover the keys of a neighbour.
    static func isPrefix(_ text: String) -> Bool {
        TextRules.isPlain(text) && text.count > 1 && text.hasPrefix("/") && text.hasSuffix("/")
            && !text.contains("//")
    }
}
