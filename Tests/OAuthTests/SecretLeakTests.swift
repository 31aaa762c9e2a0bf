import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct SecretLeakTests {
    private let canary = "c4nary-S3cret"

    private func text(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return dumped + "\(value)" + String(reflecting: value)
    }

    @Test func `no way of printing shows a secret`() {
        let secret = Secret(canary)
        #expect(!text(of: secret).contains(canary))
        #expect(!text(of: [secret]).contains(canary))
        #expect(!text(of: Optional(secret) as Any).contains(canary))
        #expect(secret.reveal() == canary)
    }

    @Test func `secrets are compared by content`() {
        #expect(Secret("a") == Secret("a"))
        #expect(Secret("a") != Secret("b"))
        #expect(Secret("a") != Secret("ab"))
    }

    @Test func `no value that holds a secret prints it`() throws {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: Secret(canary)))
        configuration.clientSecret = Secret(canary)
        var record = TokenRecord(authority: "a")
        record.refreshToken = Secret(canary)
        record.accessTokens["k"] = TokenRecord.AccessToken(
            value: Secret(canary),
            issuedAt: UnixTime(secondsSinceEpoch: 0),
            expiresAt: nil,
            scope: nil
        )
        let values: [Any] = [
            configuration, record, TokenGrant.refreshToken(Secret(canary)),
            TokenResponse(accessToken: Secret(canary), refreshToken: Secret(canary)),
            Credential(.authorization, Secret("Bearer \(canary)")) as Any,
            try StaticAuthorizer.bearer(Secret(canary)),
        ]
        for value in values { #expect(!text(of: value).contains(canary)) }
    }

    @Test func `secrets that a server repeats do not reach an error, event or status`()
        async throws
    {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret(canary))) {
            $0.clientSecret = Secret("cl1ent c4nary/")
        }
        let foreign = String(repeating: "QUJD", count: 20)
        harness.server.script(
            .respond(
                400,
                #"{"error":"invalid_client","error_description":"\#(canary) cl1ent c4nary/ "#
                    + #"cl1ent+c4nary%2F Y2wxZW50IGM0bmFyeS8= \#(foreign)"}"#,
                [:]
            )
        )
        let error = try #require(await harness.failure())
        let status = await harness.manager.status()
        for text in [text(of: error), text(of: status), text(of: harness.events)] {
            #expect(!text.contains(canary))
            #expect(!text.contains("c4nary"))
            #expect(!text.contains("Y2wxZW50IGM0bmFyeS8"))
            #expect(!text.contains(foreign))
        }
        #expect(error.detail.contains("invalid_client"))
    }

    @Test func `the whole life of a token leaves no secret in events or facts`() async throws {
        let harness = OAuthHarness(grant: .refreshToken(initial: Secret("initial")))
        _ = try await harness.send()
        harness.server.revokeAccess()
        let (_, context) = try await harness.send()
        harness.server.revokeAll()
        _ = try await harness.send()
        let error = try #require(await harness.failure())
        let all =
            text(of: harness.events) + text(of: context) + text(of: error)
            + text(of: await harness.manager.status())
        for secret in ["access-", "refresh-", "s3cret-canary"] { #expect(!all.contains(secret)) }
    }
}
