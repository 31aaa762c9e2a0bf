import NetproxyConfig
import NetworkCore
import OAuth
import Testing

@testable import NetproxyChannels

/// The environment and the output of a helper program of `auth.exec`.
@Suite struct HelperTokensTests {
    @Test func `a program gets the daemon's environment without what concerns the service manager`()
        async throws
    {
        let tokens = HelperTokens(
            for: .channel("orders"),
            command: ["/bin/sh", "-c", "echo \"t:$HOME:$VAULT_ADDR:$NOTIFY_SOCKET\""],
            environment: [
                "HOME": "/home/me", "VAULT_ADDR": "v", "NOTIFY_SOCKET": "/run/systemd/notify",
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
        #expect(response.accessToken.reveal() == "t:/home/me:v:")
    }
}
