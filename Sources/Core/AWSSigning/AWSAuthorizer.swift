package import NetproxyHTTPMessage
package import NetworkCore
package import OAuth
import Synchronization

/// Signs a channel's requests with credentials of AWS.
///
/// Another authorizer holds them as a text: the token engine, which renews them, or an authorizer of
/// configured keys.
package final class AWSAuthorizer: Authorizing, SignatureRecognizing {
    /// The time after a correction of the clock in which a refusal for the time may concern a request
    /// signed earlier.
    private static let correctionReach = Duration.seconds(60)

    /// Holds the credentials.
    package let base: any Authorizing
    private let options: AWSRequestSigner.Options
    /// The service's time of day, learned from its refusals.
    private let serverClock: ServerClock
    private let state = Mutex(State())

    private struct State {
        /// The held credential, and the one that signs with it.
        var current: (held: Credential, signing: Credential)?
        /// The time at which a refusal last corrected the clock.
        var correctedAt: ContinuousClock.Instant?
    }

    /// Signs with the credentials of another authorizer.
    ///
    /// - Parameters:
    ///   - base: the result of `manager(of:)` or `held()`; several channels may share one.
    ///   - options: the rules for signing.
    package init(_ base: any Authorizing, _ options: AWSRequestSigner.Options) {
        self.base = base
        self.options = options
        serverClock = ServerClock(clock: base.clock)
    }

    /// Makes the engine that gets credentials from a source.
    ///
    /// - Parameters:
    ///   - source: gets the credentials.
    ///   - clock: the machine's, except in tests.
    ///   - onEvent: called with every event.
    /// - Returns: the engine, which has sent nothing yet.
    package static func manager(
        of source: any AWSCredentialSource,
        clock: any NetworkClock = SystemClock(),
        onEvent: @escaping @Sendable (OAuthEvent) -> Void
    ) -> OAuthManager {
        OAuthManager(
            of: AWSTokens(source: source),
            // A program has 10 s, and the Security Token Service comes after it.
            requestTimeout: .seconds(14),
            clock: clock,
            onEvent: onEvent
        )
    }

    package var kind: String { "aws" }
    package var fieldName: HTTPFieldName { .authorization }
    package var isSignedIn: Bool { base.isSignedIn }
    /// Itself: the engine watches the time, and configured keys need no wait.
    package func timed() -> any Authorizing { self }
    package var clock: any NetworkClock { base.clock }

    package func currentCredential() -> Credential? {
        // Credentials that cannot be read are those of no source: the wait below reports it.
        base.currentCredential().flatMap(signing)
    }

    package func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        guard let credential = signing(try await base.credential(until: deadline)) else {
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
        let held = state.withLock { state in
            state.current.flatMap { $0.signing == credential ? $0.held : nil }
        }
        guard let held, held.prove() else { return }
        base.accepted(held)
    }

    package func rejected(_ rejection: Rejection) async -> Verdict {
        var judged = rejection
        // A refusal of AWS does not contain a challenge of OAuth.
        judged.content = nil
        judged.headers = [:]
        let refusal = AWSRefusal(rejection.headers, rejection.content)
        switch refusal {
        case .clockSkew, .requestExpired:
            if correctClock(by: rejection.headers) { return .signAgain }
            guard refusal == .requestExpired else { return .passThrough(.clockAgrees) }
            judged.headers.append(.wwwAuthenticate, validated: "Bearer error=\"invalid_token\"")
        case .expired, .unknownKey:
            judged.headers.append(.wwwAuthenticate, validated: "Bearer error=\"invalid_token\"")
        case nil: break
        }
        let verdict = await base.rejected(judged)
        return switch verdict {
        case .replayOnce(let credential):
            signing(credential).map(Verdict.replayOnce) ?? .passThrough(.refreshFailed)
        // The keys were read again and are the same.
        case .passThrough(.sameToken): .passThrough(.staticCredential)
        default: verdict
        }
    }

    package func isSigned(_ request: borrowing Request) -> Bool {
        StrictTarget.isPresigned(request.target)
    }

    /// Learns the service's clock; returns whether a new signature would have another time than the
    /// refused one.
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

    /// The credential that signs with the held text, made once for each text.
    private func signing(_ held: Credential) -> Credential? {
        state.withLock { state in
            if let current = state.current, current.held == held {
                // The engine has doubts: it wants to know of the next success.
                if current.signing.isProven, !held.isProven { current.signing.unprove() }
                return current.signing
            }
            guard let credentials = AWSCredentials(encoded: held.bare) else { return nil }
            let signing = Credential(
                signing: AWSRequestSigner(credentials, options, clock: serverClock),
                secrets: credentials.secrets + [held.bare],
                generation: held.generation,
                issuedAt: held.issuedAt
            )
            state.current = (held, signing)
            return signing
        }
    }
}
