package import NetworkCore
package import NetworkTesting
package import OAuth
import Synchronization

/// A manager with a manual clock and a server in memory, and its events.
package final class OAuthHarness: Sendable {
    package let clock: ManualClock
    package let server: AuthorizationServerModel
    package let api: ProtectedAPIModel
    package let manager: OAuthManager
    package let store: any TokenStoring
    private let log: EventLog

    /// The events of the manager.
    package final class EventLog: Sendable {
        private let entries = Mutex<[OAuthEvent]>([])
        private let hook = Mutex<(@Sendable (OAuthEvent) -> Void)?>(nil)
        package init() {}
        package func append(_ event: OAuthEvent) {
            entries.withLock { $0.append(event) }
            hook.withLock { $0 }?(event)
        }
        package func onEvent(_ body: (@Sendable (OAuthEvent) -> Void)?) {
            hook.withLock { $0 = body }
        }
        package var all: [OAuthEvent] { entries.withLock { $0 } }
    }

    package static let apiOrigin = Origin(scheme: .https, host: "api.example.com")

    package init(
        grant: OAuthConfiguration.Grant = .clientCredentials,
        rotates: Bool = true,
        grace: Duration = .zero,
        clock: ManualClock = ManualClock(),
        server: AuthorizationServerModel? = nil,
        store: (any TokenStoring)? = nil,
        jitter: Double = 0,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) {
        var configuration = OAuthHarness.configuration(grant)
        configure(&configuration)
        let log = EventLog()
        let server =
            server ?? AuthorizationServerModel(clock: clock, rotates: rotates, grace: grace)
        let store = store ?? MemoryTokenStore()
        self.clock = clock
        self.server = server
        self.store = store
        self.log = log
        api = ProtectedAPIModel(server: server)
        manager = OAuthManager(
            service: TokenEndpointClient(transport: server, clock: clock),
            tokenStore: store,
            configuration: configuration,
            clock: clock,
            jitter: { jitter },
            onEvent: { log.append($0) }
        )
    }

    package static func configuration(_ grant: OAuthConfiguration.Grant) -> OAuthConfiguration {
        var configuration = OAuthConfiguration(
            tokenEndpoint: .init(
                origin: Origin(scheme: .https, host: "login.example.com"),
                target: "/token"
            ),
            clientID: "client",
            clientSecret: Secret("s3cret-canary"),
            grant: grant,
            scopes: ["read"]
        )
        // A failure is visible immediately, without advancing the clock.
        configuration.failurePatience = .zero
        return configuration
    }

    package var events: [OAuthEvent] { log.all }
    /// Runs a closure at each event of the manager, in the middle of its work.
    package func onEvent(_ body: (@Sendable (OAuthEvent) -> Void)?) { log.onEvent(body) }
    package var requests: Int { server.requests.count }

    /// Returns the field value of the credential that a request would contain now.
    package func token() async throws -> String {
        if let current = manager.currentCredential() { return current.value.reveal() }
        return try await manager.credential(until: nil).value.reveal()
    }

    /// Returns the error that a request would get now instead of a credential.
    package func failure() async -> NetworkError? {
        do {
            _ = try await token()
            return nil
        } catch {
            return error as? NetworkError
        }
    }

    /// Sends a request through both interceptors.
    package func send(
        _ request: Request = Request(origin: OAuthHarness.apiOrigin, target: "/"),
        replayLimit: Int = 64 * 1024
    ) async throws -> (response: Response, context: RequestContext) {
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(authorizer: manager, replayLimit: replayLimit),
                AuthorizationInterceptor(
                    authorizer: manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: api
        )
        var context = RequestContext()
        let response = try await chain.send(request, context: &context)
        return (response, context)
    }

    /// Reports a 401 for a generation.
    package func reject(
        _ generation: Int,
        challenge: String? = "Bearer error=\"invalid_token\"",
        intent: Rejection.Intent = .replay,
        until deadline: ContinuousClock.Instant? = nil
    ) async -> Verdict {
        var headers: HTTPHeaders = [:]
        if let challenge, let field = HTTPField(.wwwAuthenticate, challenge) {
            headers.append(field)
        }
        return await manager.rejected(
            Rejection(
                generation: generation,
                headers: headers,
                intent: intent,
                deadline: deadline
            )
        )
    }
}
