import NetproxyConfig
import NetworkCore
import OAuth
import Testing

@testable import NetproxyChannels

/// The environment and the output of a helper program of `auth.exec`.
@Suite struct HelperTokensTests {
    @Test func `a program gets its user's environment without the service's secrets`()
        async throws
    {
        let tokens = HelperTokens(
            for: .channel("orders"),
            command: ["/bin/sh", "-c", "echo \"t:$HOME:$CREDENTIALS_DIRECTORY:$API_KEY\""],
            environment: [
                "HOME": "/home/me", "CREDENTIALS_DIRECTORY": "/run/secrets", "API_KEY": "s3cret",
            ],
            report: { _ in }
        )
        let configuration = OAuthConfiguration(
            tokenEndpoint: .init(origin: Origin(scheme: .https, host: "h.invalid"), target: "/"),
            clientID: ""
        )
        let response = try await tokens.tokens(
            for: .clientCredentials(scopes: []),
            configuration: configuration,
            deadline: .now + .seconds(60)
        )
        #expect(response.accessToken.reveal() == "t:/home/me::")
    }
}
