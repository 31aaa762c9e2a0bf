package import NetproxyConfig
import NetworkCore

extension BasicSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        try await context.fixed(password) { password throws(NetworkError) in
            try StaticAuthorizer.basic(username: username, password: password)
        }
    }
}
