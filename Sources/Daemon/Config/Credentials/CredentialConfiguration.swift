/// A credential as configured: of a channel, or an identity that several channels share.
///
/// Channels whose credentials are equal get the same tokens, by the same requests.
package struct CredentialConfiguration: Sendable, Hashable {
    /// The owner of a credential.
    package enum Owner: Sendable, Hashable, CustomStringConvertible {
        case channel(String)
        case identity(String)

        /// The name, which stored tokens have, too.
        package var name: String {
            switch self {
            case .channel(let name), .identity(let name): name
            }
        }

        /// As messages name it: `channel orders`.
        package var description: String {
            switch self {
            case .channel(let name): "channel \(name)"
            case .identity(let name): "identity \(name)"
            }
        }

        /// A key of the credential as messages name it: `auth.bearer`.
        package func key(_ name: String) -> String {
            switch self {
            case .channel: "auth.\(name)"
            case .identity: name
            }
        }

        /// The key path of the credential in the configuration.
        package var keyPath: String {
            switch self {
            case .channel(let name): "channels.\(name).auth"
            case .identity(let name): "identities.\(name)"
            }
        }
    }

    package var owner: Owner
    /// The settings, narrowed to the part that the channel asks for.
    package var authentication: Authentication
    /// Whether the channel narrows the credential of its identity, so that each refresh names the scopes.
    package var isNarrowed = false
    /// Whether secrets may go to an authorization server in the clear.
    package var allowInsecure: Bool
    /// The trust in authorization servers, and the client certificate for them.
    package var tls: UpstreamTLS
    /// The users whose requests get it, and no others; empty means all users.
    package var users: [UInt32] = []
    /// Whether tokens that each machine could request by itself are kept where all machines find them.
    package var isShared = false

    package var name: String { owner.name }

    /// The name of the identity; nil for the channel's own credential.
    package var identity: String? {
        if case .identity(let name) = owner { name } else { nil }
    }

    /// The keys that sign requests to AWS, if it has any.
    package var aws: AWSSettings? {
        if case .aws(let settings) = authentication { settings } else { nil }
    }

    /// The settings of its tokens, if it has any.
    package var oauth: OAuthSettings? {
        if case .oauth(let settings) = authentication { settings } else { nil }
    }
}

/// A credential that several channels share, as its own section says.
package struct IdentityConfiguration: Sendable, Hashable {
    /// The credential of channels that do not narrow it.
    package var credential: CredentialConfiguration
    /// Its place in requests, if the identity states one.
    package var placement: CredentialPlacement?

    package var name: String { credential.name }
}
