import NetworkCore
import OAuth
import TestSupport
import Testing

/// What a sign-in leaves in the store.
@Suite struct StoredSignInTests {
    private let clock = ManualClock()

    private func keep(
        _ response: TokenResponse,
        in store: any TokenStoring,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) async throws -> TokenRecord.AccessToken? {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configure(&configuration)
        try await store.keepSignIn(
            response,
            configuration: configuration,
            asked: clock.wallNow,
            clock: clock
        )
        return try await store.load()?.accessTokens[configuration.credentialKey]
    }

    @Test func `lifetime, scope and scheme are those of the server`() async throws {
        var response = TokenResponse(
            accessToken: Secret("a"),
            lifetime: .seconds(3600),
            scope: "less"
        )
        response.scheme = "DPoP"
        let token = try await keep(response, in: MemoryTokenStore()) {
            $0.defaultLifetime = .seconds(60)
        }
        #expect(token?.expiresAt == clock.wallNow + .seconds(3600))
        #expect(token?.scope == "less")
        #expect(token?.scheme == "DPoP")
    }

    @Test func `values that the server leaves out are those configured`() async throws {
        let response = TokenResponse(accessToken: Secret("a"))
        let token = try await keep(response, in: MemoryTokenStore()) {
            $0.scopes = ["read", "write"]
            $0.defaultLifetime = .seconds(60)
        }
        #expect(token?.expiresAt == clock.wallNow + .seconds(60))
        #expect(token?.scope == "read write")
    }

    @Test func `a corrupt file does not prevent signing in or out`()
        async throws
    {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "mail", clock: clock)
        try directory.write("{", to: "mail.json")
        try await store.prepareSignIn(clock: clock)
        try directory.write("{", to: "mail.json")
        let token = try await keep(TokenResponse(accessToken: Secret("a")), in: store)
        #expect(token?.value == Secret("a"))
        try directory.write("{", to: "mail.json")
        try await store.forgetSignIn(clock: clock)
        try directory.write("{", to: "mail.json")
        try await OAuthHarness(clock: clock, store: store).manager.forget()
        #expect(try await store.load()?.refreshToken == nil)
    }
}
