import AWSSigning
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

    /// The same for a channel, whose requests are signed for its own upstream where they are signed.
    func signing(for channel: ChannelConfiguration) -> ChannelAccount {
        guard let settings = credential.aws, let manager = engine else { return self }
        return ChannelAccount(
            credential: credential,
            inputs: inputs,
            authorizer: AWSAuthorizer(manager, settings.signingOptions(for: channel))
        )
    }

    /// Which clients it is for.
    var clients: AccountChoice.Clients {
        AccountChoice.Clients(identity: identity, users: credential.users)
    }
}
