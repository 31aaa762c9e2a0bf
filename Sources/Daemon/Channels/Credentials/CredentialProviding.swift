package import NetproxyConfig
import NetworkCore

/// The half of a credential kind at run time: settings that create the authorizer of a channel.
///
/// The conformance of each kind's settings is one file in the folder `Kinds`.
package protocol CredentialProviding: CredentialSettings {
    /// Returns the authorizer of a channel's requests; the secrets have been read.
    ///
    /// - Throws: an error that names the unusable value; only the channels of this credential do not serve.
    func credential(
        for channel: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential

    /// Returns a shared credential for another channel, or `nil` if each channel needs its own.
    func adapted(
        _ known: RunningCredential,
        to channel: ChannelConfiguration
    ) -> RunningCredential?

    /// The part of the channel on which the credential depends; only channels with the same one share it.
    func dependence(on channel: ChannelConfiguration) -> String?

    /// Returns the attempt of `netproxy check --online`, or `nil` if no server issues the credential.
    ///
    /// `channel` is a channel with the credential, if one has it.
    func trial(
        for channel: ChannelConfiguration?,
        in context: CredentialContext
    ) -> CredentialTrial?
}

extension CredentialProviding {
    package func adapted(
        _ known: RunningCredential,
        to _: ChannelConfiguration
    ) -> RunningCredential? { known }
    package func dependence(on _: ChannelConfiguration) -> String? { nil }
    package func trial(
        for _: ChannelConfiguration?,
        in _: CredentialContext
    ) -> CredentialTrial? { nil }
}

/// One request to the server that issues a credential, which stores nothing.
package struct CredentialTrial: Sendable {
    /// The maximum duration of the request.
    package static let limit = Duration.seconds(20)

    /// The server, or the kind of credential.
    package let subject: String
    /// Sends the request; returns a description of the outcome.
    package let run: @Sendable () async throws -> String
}

extension CredentialConfiguration {
    /// The half of the credential's kind at run time; `nil` without a credential.
    package var provider: (any CredentialProviding)? {
        guard let settings = authentication.settings else { return nil }
        guard let provider = settings as? any CredentialProviding else {
            preconditionFailure("unreachable: the settings of every kind conform")
        }
        return provider
    }
}
