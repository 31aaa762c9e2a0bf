package import NetproxyConfig
import NetproxyHTTPMessage
import NetproxyPath
import NetworkCore
package import OAuth

/// A credential and its authorizer; channels with the same identity share the authorizer.
package struct ChannelAccount: Sendable {
    package let credential: CredentialConfiguration
    /// The secrets and files of the credential.
    package let inputs: ChannelInputs
    let running: RunningCredential
    /// The part of its channel on which the credential depends.
    let dependence: String?

    var authorizer: any Authorizing { running.authorizer }

    /// The name of the identity; `nil` for the channel's own credential.
    package var identity: String? { credential.identity }

    /// The reason why the credential is unusable; `nil` if it is usable.
    var missing: String? { (authorizer as? MissingCredential)?.detail }

    /// The token engine, if the credential has renewable tokens.
    package var engine: OAuthManager? { running.engine }

    init(
        _ credential: CredentialConfiguration,
        _ inputs: ChannelInputs,
        _ running: RunningCredential,
        _ dependence: String? = nil
    ) {
        self.credential = credential
        self.inputs = inputs
        self.running = running
        self.dependence = dependence
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
        let running = RunningCredential(authorizer: MissingCredential(detail: detail))
        self.init(credential, inputs, running)
    }
}

/// An unusable credential of a channel with several credentials.
private struct MissingCredential: Authorizing {
    let detail: String
    let kind = "none"
    let fieldName = HTTPFieldName.authorization

    func currentCredential() -> Credential? { nil }

    func credential(until deadline: ContinuousClock.Instant?) throws -> Credential {
        throw NetworkError(.credentialUnavailable, side: .proxy, retry: .safe, detail: detail)
    }

    func rejected(_ rejection: Rejection) -> Verdict { .passThrough(.refreshFailed) }

    func timed() -> any Authorizing { self }
}
