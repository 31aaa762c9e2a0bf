import NetworkCore
import Synchronization
import TestSupport

/// An `OAuthManager` with everything around it in memory.
struct TokenBench {
    let clock: ManualClock
    let server: AuthorizationServerModel
    let events: EventRecord
    let manager: OAuthManager

    init(
        server: AuthorizationServerModel = AuthorizationServerModel(),
        grant: OAuthConfiguration.Grant = .clientCredentials,
        store: any TokenStoring = MemoryTokenStore(),
        clock: ManualClock = ManualClock(),
        adjust: (inout OAuthConfiguration) -> Void = { _ in }
    ) {
        self.clock = clock
        self.server = server
        var configuration = OAuthConfiguration.forTests(grant: grant)
        adjust(&configuration)
        let events = EventRecord()
        self.events = events
        manager = OAuthManager(
            service: TokenEndpointClient(configuration, transport: server, clock: clock),
            tokenStore: store,
            configuration: configuration,
            clock: clock,
            onEvent: { events.note($0) }
        )
    }

    /// What goes into `Authorization` now.
    func token() async throws -> String {
        try await manager.credential().value.reveal()
    }

    /// How many requests the token endpoint got.
    var tokenRequests: Int { server.asked.count }
}

extension OAuthConfiguration {
    static func forTests(grant: Grant = .clientCredentials) -> OAuthConfiguration {
        OAuthConfiguration(
            tokenOrigin: Origin(scheme: .https, host: "auth.example"),
            tokenTarget: "/token",
            clientID: "client",
            clientSecret: Secret("client-secret"),
            grant: grant
        )
    }
}

extension OAuthConfiguration.Grant {
    static func refresh(_ initial: String = "refresh-0") -> OAuthConfiguration.Grant {
        .refreshToken(initial: Secret(initial))
    }
}

extension AuthorizationServerModel {
    /// A server that rotates refresh tokens, beginning with `refresh-0`.
    static func rotating(
        expiresIn: String? = "3600",
        answersSpentToken: Bool = false
    ) -> AuthorizationServerModel {
        AuthorizationServerModel(
            expiresIn: expiresIn,
            refreshToken: "refresh-0",
            answersSpentToken: answersSpentToken
        )
    }
}

/// The events of a manager, in order.
final class EventRecord: Sendable {
    private struct State {
        var events: [OAuthEvent] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    func note(_ event: OAuthEvent) {
        let due = state.withLock { state in
            state.events.append(event)
            let count = state.events.count
            defer { state.watchers.removeAll { $0.count <= count } }
            return state.watchers.filter { $0.count <= count }.map(\.continuation)
        }
        for watcher in due { watcher.resume() }
    }

    /// Returns when so many events have happened.
    func until(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                guard state.events.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    var all: [OAuthEvent] { state.withLock { $0.events } }

    /// The names of the events, and the reasons of refreshes.
    var words: [String] {
        all.map { event in
            switch event {
            case .refreshed(_, let reason, _): "refreshed \(reason.rawValue)"
            case .adopted: "adopted"
            case .failed: "failed"
            case .dead: "dead"
            case .storeFailed: "storeFailed"
            }
        }
    }
}

/// The error of an operation, if it is a `NetworkError`.
func networkError(_ operation: () async throws -> some Sendable) async -> NetworkError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? NetworkError
    }
}
