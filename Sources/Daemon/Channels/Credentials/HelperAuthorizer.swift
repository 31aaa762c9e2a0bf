import NetproxyAWSSigning
package import NetworkCore
package import OAuth

/// The credential that a helper program prints, or that is signed here, driven by the token engine.
package struct HelperAuthorizer: Authorizing {
    /// The engine.
    package let manager: OAuthManager
    package let kind: String
    /// Learns the API's time of day from its refusals, where tokens carry one.
    private let serverClock: ServerClock?

    /// Makes an authorizer.
    ///
    /// - Parameters:
    ///   - tokens: runs the program, or signs.
    ///   - kind: the word in the log.
    ///   - serverClock: learns the time of day from the API's refusals.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: called with every event.
    package init(
        _ tokens: any OAuthService,
        kind: String = "exec",
        serverClock: ServerClock? = nil,
        clock: any NetworkClock = SystemClock(),
        onEvent: @escaping @Sendable (OAuthEvent) -> Void
    ) {
        self.kind = kind
        self.serverClock = serverClock
        manager = OAuthManager(
            of: tokens,
            // The program has its own 10 s; the engine waits a little longer for its end.
            requestTimeout: .seconds(12),
            clock: clock,
            onEvent: onEvent
        )
    }

    package var fieldName: HTTPFieldName { manager.fieldName }
    package var isSignedIn: Bool { manager.isSignedIn }
    /// Itself: the manager watches the time.
    package func timed() -> any Authorizing { self }
    package var clock: any NetworkClock { manager.clock }

    package func currentCredential() -> Credential? { manager.currentCredential() }

    package func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        try await manager.credential(until: deadline)
    }

    package func accepted(_ credential: Credential) { manager.accepted(credential) }

    package func rejected(_ rejection: Rejection) async -> Verdict {
        serverClock?.learn(from: rejection.headers)
        return await manager.rejected(rejection)
    }
}

extension Authorizing {
    /// The engine of a credential that can be renewed.
    var engine: OAuthManager? {
        self as? OAuthManager ?? (self as? HelperAuthorizer)?.manager
            ?? (self as? AWSAuthorizer)?.base as? OAuthManager
    }
}
