package import NetproxyHTTPMessage
package import NetproxySettings

/// An etcd cluster that keeps the tokens of many machines.
package struct EtcdSettings: Sendable, Equatable {
    /// The default of `prefix`.
    package static let defaultPrefix = "/netproxy/"

    /// The client URLs of the members.
    package var endpoints: [Origin]
    /// The prefix of all keys.
    package var prefix: String
    /// The trusted roots, and the certificate for the cluster.
    package var tls: TLSDemands
    /// The name of etcd's own user; `password` refers to its password.
    package var user: String?
    package var password: SecretReference?

    /// Whether a text is a valid prefix: a role for it must not cover the keys of a neighbor.
    static func isPrefix(_ text: String) -> Bool {
        TextRules.isPlain(text) && text.count > 1 && text.hasPrefix("/") && text.hasSuffix("/")
            && !text.contains("//")
    }
}
