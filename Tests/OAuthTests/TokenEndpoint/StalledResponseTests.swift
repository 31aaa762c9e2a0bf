import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Servers that send a head and no content.
@Suite struct StalledResponses {
    private let clock = ManualClock()
    private let server = StallingServer()
    private let configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
    private var metadata: ServerMetadata {
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.deviceEndpoint = ServerEndpoint("https://login.example.com/device")
        metadata.revocationEndpoint = ServerEndpoint("https://login.example.com/revoke")
        return metadata
    }

    /// The result of an operation ten seconds later; the rest of the response is given up.
    private func late<Outcome: Sendable>(
        _ operation: @escaping @Sendable () async -> Outcome
    ) async -> Outcome {
        let task = Task { await operation() }
        #expect(await eventually { clock.sleepers == 1 })
        clock.advance(by: .seconds(10))
        #expect(await eventually { server.body.isGivenUp })
        // Without a deadline the wait would not end.
        task.cancel()
        return await task.value
    }

    @Test func `a token response incomplete at the deadline counts as lost`() async {
        let client = TokenEndpointClient(transport: server, clock: clock)
        let deadline = clock.now + .seconds(10)
        let failure = await late { [configuration] () -> TokenFailure? in
            do throws(TokenFailure) {
                _ = try await client.tokens(
                    for: .refreshToken(Secret("r")),
                    configuration: configuration,
                    deadline: deadline
                )
                return nil
            } catch {
                return error
            }
        }
        #expect(failure?.kind == .lost)
        #expect(failure?.detail.contains("http_response_timeout") == true)
    }

    @Test func `a stalled token request is repeated within the grace window`()
        async throws
    {
        let behind = AuthorizationServerModel(clock: clock, grace: .seconds(30))
        let manager = OAuthManager(
            service: TokenEndpointClient(
                transport: StallingServer(first: 1, of: behind),
                clock: clock
            ),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthHarness.configuration(.refreshToken(initial: Secret("initial"))),
            clock: clock,
            jitter: { 0 }
        )
        let token = Task { try await manager.credential(until: nil).value.reveal() }
        #expect(await eventually { clock.slept.contains(.seconds(10)) })
        clock.advance(by: .seconds(10))
        #expect(await eventually { behind.requests.count == 2 })
        clock.advance(by: .seconds(5))
        #expect(try await token.value == "Bearer access-1")
        #expect(!behind.sawReuse)
    }

    @Test func `a device code response incomplete at the deadline is an error`() async {
        let flow = DeviceFlow(
            service: TokenEndpointClient(transport: server, clock: clock),
            transport: server,
            server: metadata,
            configuration: configuration,
            clock: clock
        )
        let words = await late { () -> String in
            do {
                _ = try await flow.begin()
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(words.contains("http_response_timeout"))
    }

    @Test func `a revocation whose response is not complete in time has failed`() async {
        let revocation = Revocation(
            transport: server,
            server: metadata,
            configuration: configuration,
            clock: clock
        )
        let outcome = await late { await revocation.revoke(Secret("r"), .refreshToken) }
        guard case .failed(let words) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(words.contains("http_response_timeout"))
    }

    @Test func `metadata incomplete at the deadline is a transient failure`() async {
        let directory = MetadataDirectory(
            issuer: "https://login.example.com",
            transport: server,
            clock: clock
        )
        let error = await late { () -> MetadataError? in
            do throws(MetadataError) {
                _ = try await directory.metadata()
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.isTransient == true)
        #expect(error?.description.contains("http_response_timeout") == true)
    }
}

/// Metadata that cannot be fetched again while tokens are needed.
@Suite struct StalledMetadata {
    @Test func `metadata that stalls leaves time for the token request`() async throws {
        let clock = ManualClock()
        let scripted = ScriptedServer()
        scripted.script(
            "/.well-known/oauth-authorization-server",
            .json(
                200,
                #"{"issuer":"https://login.example.com","token_endpoint":"https://login.example.com/t"}"#
            )
        )
        scripted.script("/t", .json(200, ScriptedServer.good))
        let server = StallingServer(first: 0, of: scripted)
        let directory = MetadataDirectory(
            issuer: "https://login.example.com",
            transport: server,
            clock: clock
        )
        let client = DiscoveringTokenClient(
            TokenEndpointClient(transport: server, clock: clock),
            directory: directory
        )
        _ = try await directory.metadata()
        clock.advance(by: .seconds(25 * 3600))
        server.stall(1)
        let deadline = clock.now + .seconds(10)
        let tokens = Task {
            try await client.tokens(
                for: .clientCredentials(scopes: []),
                configuration: OAuthHarness.configuration(.clientCredentials),
                deadline: deadline
            )
        }
        #expect(await eventually { !clock.slept.isEmpty })
        clock.advance(by: .seconds(3))
        #expect(try await tokens.value.accessToken.reveal() == "t")
        #expect(clock.now < deadline)
    }
}

/// Sends heads whose content stalls, at first or always.
private final class StallingServer: HTTPTransport {
    let body = StalledBody("{")
    private let left: Mutex<Int>
    private let behind: (any HTTPTransport)?

    /// Stalls always, or instead of the first responses of another server, which has acted.
    init(first count: Int = .max, of behind: (any HTTPTransport)? = nil) {
        left = Mutex(count)
        self.behind = behind
    }

    /// Stalls instead of the next responses.
    func stall(_ count: Int) { left.withLock { $0 = count } }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let answer = try await behind?.send(request, context: &context)
        let stalls = left.withLock { left in
            defer { left -= 1 }
            return left > 0
        }
        guard !stalls, let answer else {
            return Response(status: 200, body: .stream(body, length: nil))
        }
        return answer
    }
}
