import NetproxyAWSSigning
package import NetproxyConfig
import NetproxyPath
import NetworkCore
package import OAuth

/// A credential and its authorizer; channels with the same identity share the authorizer.
package struct ChannelAccount: Sendable {
    package let credential: CredentialConfiguration
    /// The secrets and files of the credential.
    package let inputs: ChannelInputs
    let authorizer: any Authorizing
    /// The region of the Security Token Service, if it follows from the channel's upstream.
    var tokenRegion: String?

    /// The name of the identity; `nil` for the channel's own credential.
    package var identity: String? { credential.identity }

    /// The reason why the credential is unusable; `nil` if it is usable.
    var missing: String? { (authorizer as? MissingCredential)?.detail }

    /// The token engine, if the credential has renewable tokens.
    package var engine: OAuthManager? { authorizer.engine }

    /// Returns the account for a channel; AWS requests are signed for that channel's own upstream.
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

    /// The clients that may use the credential.
    var clients: AccountChoice.Clients {
        AccountChoice.Clients(identity: identity, users: credential.users)
    }
}

extension ChannelAccount {
    /// Creates an account for an unusable credential.
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
