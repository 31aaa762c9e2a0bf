import NetproxyAWSSigning
import NetproxyConfig
import NetworkCore
import OAuth

/// A credential with what supplies it; channels that use one identity have the same supplier.
struct ChannelAccount: Sendable {
    let credential: CredentialConfiguration
    /// The secrets and files that it was made of.
    let inputs: ChannelInputs
    let authorizer: any Authorizing
    /// Where its role is taken, if that follows from the channel's upstream.
    var tokenRegion: String?

    /// The name of the identity; `nil` for the channel's own credential.
    var identity: String? { credential.identity }

    /// The engine of its tokens, if they can be renewed.
    var engine: OAuthManager? { authorizer.engine }

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

extension ChannelShared {
    /// Decides which of the channel's credentials a request may have.
    ///
    /// - Parameters:
    ///   - key: the lent key that came with the request.
    ///   - userID: the peer's on a unix socket.
    ///   - context: gets the choice.
    /// - Throws: `http_request_denied` with 403 if no credential is for this client.
    @inline(never)
    func chooseAccounts(
        for key: LentKey?,
        _ userID: UInt32?,
        _ context: inout RequestContext
    ) throws(NetworkError) {
        guard let choice = accountChoice else {
            return try AccountChoice.check(key, among: accounts.map(\.clients))
        }
        let places = try choice.places(for: key, userID)
        (context.accounts, context.preferredAccounts) = (places.all, places.preferred)
    }
}
