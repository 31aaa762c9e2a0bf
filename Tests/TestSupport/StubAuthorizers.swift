package import NetworkCore
import Synchronization

/// An authorizer that replays every rejected request with the same token.
package struct WillingAuthorizer: Authorizing {
    package let kind = "stub"
    package let fieldName = HTTPFieldName.authorization
    package let clock: any NetworkClock = SystemClock()

    package init() {}

    /// Returns a new, unproven credential every time.
    package func currentCredential() -> Credential? {
        Credential(.authorization, Secret("Bearer 1"), generation: 1)
    }

    package func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        guard let current = currentCredential() else { throw CancellationError() }
        return current
    }

    package func rejected(_ rejection: Rejection) async -> Verdict { .replay }
}

/// An authorizer that announces another token after a rejection, but then fails to provide it.
package final class LapsingAuthorizer: Authorizing {
    package let kind = "stub"
    package let fieldName = HTTPFieldName.authorization
    private let failure: ErrorKind
    private let state = Mutex(0)

    package init(_ failure: ErrorKind) {
        self.failure = failure
    }

    package var rejections: Int { state.withLock { $0 } }

    package func currentCredential() -> Credential? {
        guard rejections == 0 else { return nil }
        return Credential(.authorization, Secret("Bearer 1"), generation: 1)
    }

    package func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        throw NetworkError(failure, side: .upstream, detail: "no token came")
    }

    package func rejected(_ rejection: Rejection) async -> Verdict {
        state.withLock { $0 += 1 }
        return .replay
    }
}
