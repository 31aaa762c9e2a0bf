import Foundation
import NetworkClient
import NetworkTesting
import OAuth
import TestSupport
import Testing

@Suite struct SignedCallTests {
    private let clock = ManualClock()
    private let server: AuthorizationServerModel
    private let api: ProtectedAPIModel

    init() {
        server = AuthorizationServerModel(clock: clock)
        api = ProtectedAPIModel(server: server)
    }

    private func oauth(
        _ store: any TokenStoring = MemoryTokenStore(),
        grant: OAuthConfiguration.Grant = .refreshToken(initial: Secret("initial"))
    ) -> OAuthManager {
        var configuration = OAuthConfiguration(
            tokenEndpoint: .init(
                origin: Origin(scheme: .https, host: "login.example"),
                target: "/token"
            ),
            clientID: "app",
            grant: grant
        )
        // A failure is visible immediately, without advancing the clock.
        configuration.failurePatience = .zero
        return OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: store,
            configuration: configuration,
            clock: clock
        )
    }

    private func manager(_ authorizer: any Authorizing) -> NetworkManager<PathEndpoint> {
        NetworkManager(.stubbed(api, authorizer: authorizer))
    }

    private let endpoint = PathEndpoint(
        "/x",
        of: "https://api.example.com",
        method: .post,
        authorization: .required
    )

    @Test func `a token ended by the server is renewed, and the call sent again`() async throws {
        let manager = manager(oauth())
        try await manager.send(endpoint)
        server.revokeAccess()
        let response = try await manager.upload(
            endpoint,
            .stream(PiecedBody(["ab", "c"]), contentType: "text/plain")
        )
        #expect(response.text == "welcome")
        #expect(response.context.retries == [.unauthorized])
        #expect(api.seen.map(\.status) == [200, 401, 200])
        #expect(api.seen.last?.body == "abc")
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [AuthorizationRequirement.required, .optional])
    func `a call that finds the sign-in dead says so, and is not sent unsigned`(
        requirement: AuthorizationRequirement
    ) async throws {
        let manager = manager(oauth())
        var endpoint = endpoint
        endpoint.authorization = requirement
        try await manager.send(endpoint)
        server.revokeAll()
        for call in 1...2 {
            let error = await networkError { try await manager.send(endpoint) }
            #expect(error?.kind == .reauthorizationRequired)
            #expect(error?.detail.contains("sign in again") == true)
            // The API has refused the first call.
            #expect(error?.status == (call == 1 ? 401 : nil))
        }
        #expect(api.seen.count == 2)
        #expect(api.seen.allSatisfy { $0.authorization == ["Bearer access-1"] })
    }

    @Test func `an optional call before the first sign-in is sent unsigned`() async throws {
        var endpoint = endpoint
        endpoint.authorization = .optional
        let manager = manager(oauth(grant: .refreshToken(initial: nil)))
        _ = await networkError { try await manager.send(endpoint) }
        #expect(api.seen.map(\.authorization) == [[]])
    }

    @Test func `a call that fails for lack of a new token names the cause`() async throws {
        let manager = manager(oauth())
        try await manager.send(endpoint)
        server.revokeAccess()
        server.script(.respond(500, "oops", [:]), .respond(500, "oops", [:]))
        let error = await networkError { try await manager.send(endpoint) }
        #expect(error?.kind == .credentialUnavailable)
        #expect(
            error?.detail.contains("the token endpoint https://login.example answered 500") == true
        )
        #expect((error?.underlying as? OAuthFailure)?.kind == "transient")
        #expect(error?.retryAfter != nil)
        #expect(error?.status == 401)
    }

    @Test func `client credentials are requested once`() async throws {
        let manager = manager(oauth(grant: .clientCredentials))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await manager.send(endpoint) } }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 1)
    }

    @Test func `downloads, uploads and streams are signed alike`() async throws {
        let manager = manager(oauth())
        let file = try ScratchFile("")
        #expect(try await manager.download(endpoint, to: file.path).length == 7)
        _ = try await manager.upload(endpoint, .data(Data([1]), contentType: "image/png"))
        var lines: [String] = []
        for try await line in try await manager.stream(endpoint).lines { lines.append(line) }
        #expect(lines == ["welcome"])
        #expect(api.seen.map(\.authorization) == Array(repeating: ["Bearer access-1"], count: 3))
    }

    @Test func `a new manager uses the stored tokens`() async throws {
        let store = MemoryTokenStore()
        try await manager(oauth(store)).send(endpoint)
        try await manager(oauth(store)).send(endpoint)
        #expect(!server.sawReuse)
        #expect(api.seen.map(\.status) == [200, 200])
    }

    @Test func `no call is sent unsigned if a new sign-in is needed`() async throws {
        server.revokeAll()
        let manager = manager(oauth())
        for requirement in [AuthorizationRequirement.required, .optional] {
            var options = CallOptions()
            options.authorization = requirement
            let error = await #expect(throws: NetworkError.self) {
                try await manager.send(endpoint, options: options)
            }
            #expect(error?.kind == .reauthorizationRequired)
        }
        #expect(api.seen.isEmpty)
    }

    @Test func `a signed call is not sent again unsigned`() async throws {
        // Too long to be read before the replay, which then finds no user signed in.
        let long = HTTPBody.bytes(ByteSlice(String(repeating: "no", count: 64 * 1024)))
        let upstream = Upstream { _, _ in Response(status: 401, body: long) }
        let authorizer = LapsingAuthorizer(.reauthorizationRequired)
        let manager = NetworkManager<PathEndpoint>(.stubbed(upstream, authorizer: authorizer))
        var options = CallOptions()
        options.authorization = .optional
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(endpoint, options: options)
        }
        #expect(error?.kind == .reauthorizationRequired)
        #expect(upstream.arrived.map(\.token) == ["Bearer 1"])
    }

    @Test(
        arguments: [
            Origin(scheme: .https, host: "evil.example.com"),
            Origin(scheme: .https, host: "api.example.com", port: 8443),
            Origin(scheme: .http, host: "api.example.com"),
        ]
    )
    func `an interceptor cannot redirect a signed call to another origin`(_ origin: Origin)
        async throws
    {
        let detour: any RequestInterceptor = .adapting { $0.origin = origin }
        var channel = NetworkChannel.stubbed(api, authorizer: oauth(), interceptors: [detour])
        channel.allowsInsecureCredentials = true
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(api.seen.isEmpty)
    }

    @Test func `a service may provide the request for the sign-in page`() throws {
        struct Page: SignInRequestProvider {
            func signInRequest(configuration: OAuthConfiguration) throws -> Request? {
                try RequestBuilder("https://login.example").path("/authorize")
                    .query(["client_id": configuration.clientID]).build()
            }
        }
        let configuration = OAuthConfiguration(
            tokenEndpoint: .init(
                origin: Origin(scheme: .https, host: "login.example"),
                target: "/token"
            ),
            clientID: "app"
        )
        #expect(
            try Page().signInRequest(configuration: configuration)?.target
                == "/authorize?client_id=app"
        )
    }
}
