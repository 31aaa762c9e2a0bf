import NetworkCore
import OAuth
import ProxyConfig

/// A credential with what supplies it; channels that use one identity have the same supplier.
struct ChannelAccount: Sendable {
    let credential: CredentialConfiguration
    /// The secrets and files that it was made of.
    let inputs: ChannelInputs
    let authorizer: any Authorizing

    /// The name of the identity; `nil` for the channel's own credential.
    var identity: String? { credential.identity }

    /// The engine of its tokens, if they can be renewed.
    var engine: OAuthManager? { authorizer.engine }

    /// Which clients it is for.
    var clients: AccountChoice.Clients {
        AccountChoice.Clients(identity: identity, users: credential.users)
    }
}
