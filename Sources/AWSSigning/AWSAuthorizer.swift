package import HTTPMessage
package import NetworkCore
package import OAuth
import Synchronization

/// Signs a channel's requests with credentials of AWS, which the token engine renews.
package final class AWSAuthorizer: Authorizing, SignatureRecognizing {
    /// How long after the clock was corrected a refusal for the time may be of a request that was signed
    /// before.
    private static let correctionReach = Duration.seconds(60)

    /// The engine.
    package let manager: OAuthManager
    private let options: AWSRequestSigner.Options
    /// The service's time of day, learned from its refusals.
    private let serverClock: ServerClock
    private let state = Mutex(State())

    private struct State {
        /// The engine's credential, and the one that signs with it.
        var current: (engine: Credential, signing: Credential)?
        /// When a refusal last corrected the clock.
        var correctedAt: ContinuousClock.Instant?
    }

    /// Signs with the credentials that an engine holds.
    ///
    /// - Parameters:
    ///   - manager: the engine, as `manager(of:)` makes it; several authorizers may share one.
    ///   - options: what is signed.
    package init(_ manager: OAuthManager, _ options: AWSRequestSigner.Options) {
        self.manager = manager
        self.options = options
        serverClock = ServerClock(clock: manager.clock)
    }

    /// Makes the engine that gets credentials from a source.
    ///
    /// - Parameters:
    ///   - source: gets the credentials.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: called with every event.
    /// - Returns: the engine, which has asked for nothing yet.
    package static func manager(
        of source: any AWSCredentialSource,
        clock: any NetworkClock = SystemClock(),
        onEvent: @escaping @Sendable (OAuthEvent) -> Void
    ) -> OAuthManager {
        // The endpoint is never contacted: the source knows its own.
        var configuration = OAuthConfiguration(
            tokenEndpoint: ServerEndpoint(
                origin: Origin(scheme: .https, host: "aws.invalid"),
                target: "/"
            ),
            clientID: ""
        )
        // A program has 10 s, and the Security Token Service comes after it.
        configuration.requestTimeout = .seconds(14)
        return OAuthManager(
            service: AWSTokens(source: source),
            tokenStore: MemoryTokenStore(),
            configuration: configuration,
            clock: clock,
            onEvent: onEvent
        )
    }

    package var kind: String { "aws" }
    package var fieldName: HTTPFieldName { .authorization }
    package var isSignedIn: Bool { manager.isSignedIn }
    /// Itself: the manager watches the time.
    package func timed() -> any Authorizing { self }
    package var clock: any NetworkClock { manager.clock }

    package func currentCredential() -> Credential? {
        // Credentials that cannot be read are those of no source: the wait below reports it.
        manager.currentCredential().flatMap(signing)
    }

    package func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        guard let credential = signing(try await manager.credential(until: deadline)) else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: "the credentials for AWS cannot be read"
            )
        }
        return credential
    }

    package func accepted(_ credential: Credential) {
        let engine = state.withLock { state in
            state.current.flatMap { $0.signing == credential ? $0.engine : nil }
        }
        guard let engine, engine.prove() else { return }
        manager.accepted(engine)
    }

    package func rejected(_ rejection: Rejection) async -> Verdict {
        var judged = rejection
        // What AWS says is no challenge of OAuth.
        judged.content = nil
        judged.headers = [:]
        switch AWSRefusal(rejection.content) {
        case .clockSkew:
            return correctClock(by: rejection.headers)
                ? .signAgain : .passThrough(.clockAgrees)
        case .expired, .unknownKey:
            judged.headers.append(.wwwAuthenticate, validated: "Bearer error=\"invalid_token\"")
        case nil: break
        }
        let verdict = await manager.rejected(judged)
        return switch verdict {
        case .replayOnce(let credential):
            signing(credential).map(Verdict.replayOnce) ?? .passThrough(.refreshFailed)
        // Keys that were read again and are the same.
        case .passThrough(.sameToken): .passThrough(.staticCredential)
        default: verdict
        }
    }

    package func isSigned(_ request: borrowing Request) -> Bool {
        StrictTarget.isPresigned(request.target)
    }

    /// Learns the service's clock; returns whether a request that is signed now has another time than the
    /// one that was refused may have had.
    private func correctClock(by headers: HTTPHeaders) -> Bool {
        let before = serverClock.offset
        serverClock.learn(from: headers)
        let moved = serverClock.offset - before
        let now = clock.now
        return state.withLock { state in
            if max(moved, .zero - moved) >= ServerClock.blur {
                state.correctedAt = now
                return true
            }
            return state.correctedAt.map { now - $0 < Self.correctionReach } ?? false
        }
    }

    /// The credential that signs with those that the engine holds as a text: made once for each.
    private func signing(_ engine: Credential) -> Credential? {
        state.withLock { state in
            if let current = state.current, current.engine == engine {
                // The engine has doubts: it wants to know of the next success.
                if current.signing.isProven, !engine.isProven { current.signing.unprove() }
                return current.signing
            }
            guard let credentials = AWSCredentials(encoded: engine.bare) else { return nil }
            let signing = Credential(
                signing: AWSRequestSigner(credentials, options, clock: serverClock),
                secrets: credentials.secrets + [engine.bare],
                generation: engine.generation,
                issuedAt: engine.issuedAt
            )
            state.current = (engine, signing)
            return signing
        }
    }
}
