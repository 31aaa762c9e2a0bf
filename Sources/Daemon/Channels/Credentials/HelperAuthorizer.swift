package import NetworkCore
package import OAuth

/// A credential from a helper program or a local signer, driven by the token engine.
package struct HelperAuthorizer: Authorizing {
    /// The engine.
    package let manager: OAuthManager
    package let kind: String
    /// Learns the API's time of day from rejections, for tokens with a time.
    private let serverClock: ServerClock?

    /// Creates an authorizer.
    ///
    /// - Parameters:
    ///   - tokens: runs the program or signs the token.
    ///   - kind: the kind of credential in the log.
    ///   - serverClock: learns the time of day from the API's rejections.
    ///   - clock: the system clock, except in tests.
    ///   - onEvent: called for each event.
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
            // The program's own timeout is 10 s; the engine waits a little longer for it to exit.
            requestTimeout: .seconds(12),
            clock: clock,
            onEvent: onEvent
        )
    }

    /// The authorizer with its engine.
    var running: RunningCredential { RunningCredential(authorizer: self, engine: manager) }

    package var fieldName: HTTPFieldName { manager.fieldName }
    package var isSignedIn: Bool { manager.isSignedIn }
    /// Returns this authorizer: the manager enforces deadlines itself.
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
