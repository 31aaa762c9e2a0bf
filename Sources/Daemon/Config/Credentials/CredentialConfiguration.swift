package import NetproxySettings

/// The configured credential of a channel, or of an identity that several channels share.
///
/// Channels with equal credentials share the same tokens and token requests.
package struct CredentialConfiguration: Sendable, Hashable {
    /// The owner of a credential.
    package enum Owner: Sendable, Hashable, CustomStringConvertible {
        case channel(String)
        case identity(String)

        /// The name, which is also the name of the stored tokens.
        package var name: String {
            switch self {
            case .channel(let name), .identity(let name): name
            }
        }

        /// The owner in messages: `channel orders`.
        package var description: String {
            switch self {
            case .channel(let name): "channel \(name)"
            case .identity(let name): "identity \(name)"
            }
        }

        /// Returns a key of the credential for messages: `auth.bearer`.
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
    /// The settings, narrowed to the part that the channel requests.
    package var authentication: Authentication
    /// Whether the channel narrows the credential of its identity, so that each refresh names the scopes.
    package var isNarrowed = false
    /// Whether secrets may be sent to an authorization server unencrypted.
    package var allowInsecure: Bool
    /// The trust in authorization servers, and the client certificate for them.
    package var tls: TLSDemands
    /// The only users whose requests receive the credential; empty means all users.
    package var users: [UInt32] = []
    /// Whether all machines share the tokens, even those that each machine could request itself.
    package var isShared = false

    package var name: String { owner.name }

    /// The name of the identity; nil for the channel's own credential.
    package var identity: String? {
        if case .identity(let name) = owner { name } else { nil }
    }
}

extension CredentialConfiguration {
    /// The secrets of one line that the credential names.
    package var secretReferences: [SecretReference] {
        authentication.settings?.secretReferences ?? []
    }

    /// The keys of several lines that the credential names, without the tokens of a token exchange, which are
    /// read for each request.
    package var documentReferences: [SecretReference] {
        authentication.settings?.documentReferences ?? []
    }

    /// The header fields that the credential sets in addition to its own.
    package var companionFields: [CompanionField] {
        authentication.settings?.companionFields ?? []
    }
}

/// A credential that several channels share, with a section of its own.
package struct IdentityConfiguration: Sendable, Hashable {
    /// The credential of channels that do not narrow it.
    package var credential: CredentialConfiguration
    /// The place of the credential in requests, if the identity states one.
    package var placement: CredentialPlacement?

    package var name: String { credential.name }
}
