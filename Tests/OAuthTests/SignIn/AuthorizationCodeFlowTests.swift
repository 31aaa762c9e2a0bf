import NetworkCore
import OAuth
import TestSupport
import Testing

/// Sign-ins through a browser.
@Suite struct AuthorizationCodeFlowTests {
    private let proof = ProofKey(verifier: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))

    private func flow(
        binding: ProofOfPossession? = nil,
        _ change: (inout ServerMetadata) -> Void = { _ in }
    ) -> AuthorizationCodeFlow {
        var server = ServerMetadata(issuer: "https://login.example.com")
        server.authorizationEndpoint = ServerEndpoint("https://login.example.com/authorize?t=1")
        change(&server)
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configuration.scopes = ["read", "a b"]
        configuration.audience = "https://api.example.com"
        configuration.resources = ["urn:a", "urn:b"]
        configuration.parameters = [FormParameter("tenant", "x")]
        configuration.authorizationParameters = [FormParameter("prompt", "login")]
        configuration.proof = binding
        return AuthorizationCodeFlow(
            server: server,
            configuration: configuration,
            redirect: "http://127.0.0.1:5001/callback",
            proof: proof,
            state: Secret("s+1")
        )
    }

    private func words(_ answer: AuthorizationCodeFlow.Answer) -> String {
        switch answer {
        case .grant: "grant"
        case .refused(let error): error.description
        case .foreign: "foreign"
        }
    }

    @Test func `a page without a URL is an error`() {
        let flow = flow { $0.authorizationEndpoint = "login.example.com/authorize" }
        #expect(throws: SignInError.self) { try flow.page() }
    }

    @Test func `the challenge is that of RFC 7636 appendix B`() {
        #expect(proof.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `verifiers have 43 unreserved characters and are never the same`() {
        let verifiers = (0..<64).map { _ in ProofKey().verifier.reveal() }
        #expect(Set(verifiers).count == 64)
        #expect(
            verifiers.allSatisfy { text in
                text.count == 43
                    && text.allSatisfy {
                        $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0))
                    }
            }
        )
    }

    @Test func `the page has all parameters, after its own query`() throws {
        #expect(
            try flow().page()
                == "https://login.example.com/authorize?t=1&response_type=code&client_id=client"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A5001%2Fcallback&scope=read+a+b&state=s%2B1"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
                + "&code_challenge_method=S256&audience=https%3A%2F%2Fapi.example.com"
                + "&resource=urn%3Aa&resource=urn%3Ab&prompt=login"
        )
    }

    @Test func `with a key, the page binds the code to it`() throws {
        let binding = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        let page = try flow(binding: binding).page()
        #expect(page.contains("&dpop_jkt=\(binding.thumbprint)&"))
    }

    @Test func `a server that supports PKCE but not S256 is refused`() {
        #expect(throws: SignInError.self) {
            try flow { $0.challengeMethods = ["plain"] }.page()
        }
    }

    @Test(arguments: ["", "&error=", "&error&error_description="])
    func `a code becomes a grant with its verifier`(empty: String) throws {
        guard case .grant(let grant) = flow().answer("code=c%2F1&state=s%2B1\(empty)") else {
            Issue.record("no grant")
            return
        }
        #expect(grant.type == "authorization_code")
        #expect(
            grant.parameters
                == [FormParameter("redirect_uri", "http://127.0.0.1:5001/callback")]
        )
        #expect(grant.secretParameters.map(\.name) == ["code", "code_verifier"])
        #expect(
            grant.secretParameters.map { $0.value.reveal() }
                == ["c/1", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"]
        )
    }

    @Test(arguments: [
        "code=c", "code=c&state=", "code=c&state=other", "code=c&state=s%2B1&state=s%2B1", "",
        "error=access_denied", "state=%zz",
    ])
    func `a response without our state is not trusted in any part`(query: String) {
        #expect(words(flow().answer(query)) == "foreign")
    }

    @Test(
        arguments: [
            ("code=c", "it has no state"), ("state=&code=c", "it has no state"),
            ("code=c&state=other", "its state is not that of this sign-in"),
            (
                "error=access%0Adenied",
                "it has no state, and it says access denied"
            ),
        ]
    )
    func `the error names the fault of a response without our state`(query: String, words: String) {
        guard case .foreign(let told) = flow().answer(query) else {
            Issue.record("it was believed")
            return
        }
        #expect(told == words)
    }

    @Test func `the server's error code is kept`() {
        guard case .refused(let error) = flow().answer("state=s%2B1&error=invalid_scope") else {
            Issue.record("it was not refused")
            return
        }
        #expect(error.serverError == "invalid_scope")
    }

    @Test(arguments: [
        "code=c&state=s%2B1&iss=https%3A%2F%2Fevil.example.com",
        "code=c&state=s%2B1&iss=https%3A%2F%2Flogin.example.com%2F",
        "code=c&state=s%2B1&iss=https%3A%2F%2Flogin.example.com&iss=https%3A%2F%2Fevil.example.com",
    ])
    func `a code of another issuer is not presented`(query: String) {
        #expect(words(flow().answer(query)) == "the response names another issuer")
    }

    @Test func `an issuer that the metadata announces is required`() {
        let flow = flow { $0.answersWithIssuer = true }
        #expect(words(flow.answer("code=c&state=s%2B1")).contains("lacks the issuer"))
        let query = "code=c&state=s%2B1&iss=https%3A%2F%2Flogin.example.com"
        #expect(words(flow.answer(query)) == "grant")
    }

    @Test func `the server's message is cleaned`() {
        let query = "state=s%2B1&error=access_denied&error_description=no%0Ahe%20said%20s%2B1no"
        #expect(
            words(flow().answer(query)) == "the server refused: access_denied: no he said s+1no"
        )
    }

    @Test func `a running manager finds the tokens of a sign-in`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "mail", clock: clock)
        let harness = OAuthHarness(grant: .refreshToken(initial: nil), clock: clock, store: store)
        #expect(await harness.failure()?.kind == .reauthorizationRequired)
        #expect(!harness.manager.isSignedIn)
        var response = TokenResponse(accessToken: Secret("signed-in"), lifetime: .seconds(3600))
        response.refreshToken = Secret("initial")
        try await store.keepSignIn(
            response,
            configuration: OAuthHarness.configuration(.refreshToken(initial: nil)),
            asked: clock.wallNow,
            clock: clock
        )
        try await harness.manager.lookIntoStore()
        #expect(try await harness.token() == "Bearer signed-in")
        #expect(harness.manager.isSignedIn)
        #expect(harness.requests == 0)
        clock.advance(by: .seconds(3600))
        #expect(try await harness.token() == "Bearer access-1")
        #expect(harness.server.requests.last?.form["refresh_token"] == "initial")
    }

    @Test func `signing out removes everything`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "mail")
        try await store.keepSignIn(
            TokenResponse(accessToken: Secret("a")),
            configuration: OAuthHarness.configuration(.refreshToken(initial: nil)),
            asked: UnixTime(secondsSinceEpoch: 1)
        )
        #expect(try await store.load()?.accessTokens.isEmpty == false)
        for _ in 0..<2 {
            try await store.forgetSignIn()
            let left = try #require(try await store.load())
            #expect(left.accessTokens.isEmpty && left.refreshToken == nil)
        }
    }
}
