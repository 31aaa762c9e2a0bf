package import NetworkCore
import Synchronization

/// A credential that stands in a file, which is read again after a 401: who rotates it need not tell
/// the daemon.
package final class FileAuthorizer: Authorizing {
    package let kind: String
    package let fieldName: HTTPFieldName
    private let read: @Sendable () async throws -> StaticAuthorizer
    private let onChange: @Sendable () -> Void
    private let onFault: @Sendable (any Error) -> Void
    private let current: Mutex<Credential>

    /// Makes an authorizer.
    ///
    /// - Parameters:
    ///   - first: what stood in the file.
    ///   - read: makes it anew of what stands there now.
    ///   - onChange: told when another one is used from now on.
    ///   - onFault: told why it could not be read; the one at hand stays.
    package init(
        _ first: StaticAuthorizer,
        read: @escaping @Sendable () async throws -> StaticAuthorizer,
        onChange: @escaping @Sendable () -> Void,
        onFault: @escaping @Sendable (any Error) -> Void
    ) {
        kind = first.kind
        fieldName = first.fieldName
        current = Mutex(first.credential(until: nil).numbered(1))
        self.read = read
        self.onChange = onChange
        self.onFault = onFault
    }

    /// Nothing waits for a credential.
    package var keepsDeadlines: Bool { true }

    package func currentCredential() -> Credential? { current.withLock { $0 } }

    package func credential(until deadline: ContinuousClock.Instant?) -> Credential {
        current.withLock { $0 }
    }

    package func rejected(_ rejection: Rejection) async -> Verdict {
        guard let refused = rejection.generation else { return .passThrough(.staticCredential) }
        let isRenewed = await isRenewed(since: refused)
        return switch rejection.intent {
        case .afterReplay: .passThrough(.alreadyReplayed)
        case _ where !isRenewed: .passThrough(.staticCredential)
        case .replay: .replay
        case .report(let reason): .passThrough(reason)
        }
    }

    /// Whether there is another credential than that one, if need be by another look at the file.
    ///
    /// Not on a worker's loop: the file may be on a medium that takes its time.
    @concurrent
    private func isRenewed(since refused: Int) async -> Bool {
        guard current.withLock({ $0.generation == refused }) else { return true }
        let found: Credential
        do {
            found = try await read().credential(until: nil)
        } catch {
            onFault(error)
            return false
        }
        let (isAnother, isNews) = current.withLock { current in
            // Whoever had the same 401 may have been here before.
            guard current.generation == refused else { return (true, false) }
            guard current.value != found.value else { return (false, false) }
            current = found.numbered(refused + 1)
            return (true, true)
        }
        if isNews { onChange() }
        return isAnother
    }
}
