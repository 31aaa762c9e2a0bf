package import NetproxyConfig
import NetworkCore

extension BearerSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        try await context.fixed(token) { token throws(NetworkError) in
            try StaticAuthorizer.bearer(token)
        }
    }
}
