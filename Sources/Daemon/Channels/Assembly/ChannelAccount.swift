import NetproxyAWSSigning
package import NetproxyConfig
import NetproxyPath
import NetworkCore
package import OAuth

/// A credential with what supplies it; channels that use one identity have the same supplier.
package struct ChannelAccount: Sendable {
    package let credential: CredentialConfiguration
    /// The secrets and files that it was made of.
    package let inputs: ChannelInputs
    let authorizer: any Authorizing
    /// Where its role is taken, if that follows from the channel's upstream.
    var tokenRegion: String?

    /// The name of the identity; `nil` for the channel's own credential.
    package var identity: String? { credential.identity }

    /// The reason why it cannot be used, if its secrets cannot be read or used.
    var missing: String? { (authorizer as? MissingCredential)?.detail }

    /// The engine of its tokens, if they can be renewed.
    package var engine: OAuthManager? { authorizer.engine }

    /// The same for a channel, whose requests are signed for its own upstream where they are signed.
    func signing(for channel: ChannelConfiguration) -> ChannelAccount {
        guard let settings = credential.aws, let known = authorizer as? AWSAuthorizer else {
            return self
        }
        return ChannelAccount(
            credential: credential,
            inputs: inputs,
            authorizer: AWSAuthorizer(known.base, settings.signingOptions(for: channel)),
            tokenRegion: tokenRegion
        )
    }

    /// Which clients it is for.
    var clients: AccountChoice.Clients {
        AccountChoice.Clients(identity: identity, users: credential.users)
    }
}

extension ChannelAccount {
    /// Takes the place of a credential that cannot be made.
    init(
        _ credential: CredentialConfiguration,
        _ inputs: ChannelInputs,
        missing error: any Error
    ) {
        let detail = (error as? SecretError)?.outcome ?? "\(error)"
        self.init(
            credential: credential,
            inputs: inputs,
            authorizer: MissingCredential(detail: detail)
        )
    }
}
