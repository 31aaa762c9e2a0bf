package import NetworkCore
import Synchronization

/// A credential that stands in a file, which is read again after a 401: who rotates it need not tell
/// the daemon.
package final class FileAuthorizer: Authorizing {
    private struct State {
        var credential: Credential
        /// Whether somebody looks at the file, for all that wait.
        var isLooking = false
        /// Whether that takes so long that nobody waits for it.
        var isStuck = false
        /// Who waits to learn whether there is another credential.
        var waiting: [AsyncStream<Bool>.Continuation] = []
    }

    /// How long anybody waits for the file: it is small, and mostly near.
    private static let patience = Duration.seconds(5)

    package let kind: String
    package let fieldName: HTTPFieldName
    private let read: @Sendable () async throws -> StaticAuthorizer
    private let onChange: @Sendable () -> Void
    private let onFault: @Sendable (any Error) -> Void
    private let state: Mutex<State>

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
        state = Mutex(State(credential: first.credential(until: nil).numbered(1)))
        self.read = read
        self.onChange = onChange
        self.onFault = onFault
    }

    /// Nothing waits for a credential.
    package var keepsDeadlines: Bool { true }

    package func currentCredential() -> Credential? { state.withLock { $0.credential } }

    package func credential(until deadline: ContinuousClock.Instant?) -> Credential {
        state.withLock { $0.credential }
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

    /// Whether there is another credential than that one, if need be by another look at the file: one
    /// for all that were refused meanwhile.
    private func isRenewed(since refused: Int) async -> Bool {
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        let (isKnown, isFirst): (Bool?, Bool) = state.withLock { state in
            guard state.credential.generation == refused else { return (true, false) }
            guard !state.isStuck else { return (false, false) }
            state.waiting.append(answer)
            defer { state.isLooking = true }
            return (nil, !state.isLooking)
        }
        if let isKnown { return isKnown }
        if isFirst {
            // Not on a worker's loop: the file may be on a medium that takes its time. And nobody's
            // own: whoever gives up leaves the look to the others.
            Task(executorPreference: globalConcurrentExecutor) { await self.look(behind: refused) }
        }
        // Ends with the task that waits, too.
        for await isRenewed in answers { return isRenewed }
        return false
    }

    private func look(behind refused: Int) async {
        // Called off with the look: the file has answered.
        let bound = Task {
            try await Task.sleep(for: Self.patience)
            self.giveUp()
        }
        defer { bound.cancel() }
        let found: Result<Credential, any Error>
        do {
            found = .success(try await read().credential(until: nil))
        } catch {
            found = .failure(error)
        }
        let (isRenewed, waiting) = state.withLock { state in
            (state.isLooking, state.isStuck) = (false, false)
            var isRenewed = false
            if case .success(let found) = found, found.value != state.credential.value {
                state.credential = found.numbered(refused + 1)
                isRenewed = true
            }
            defer { state.waiting = [] }
            return (isRenewed, state.waiting)
        }
        if isRenewed { onChange() }
        if case .failure(let error) = found { onFault(error) }
        for waiter in waiting { waiter.yield(isRenewed) }
    }

    /// Lets nobody wait any longer for a file on a medium that does not answer.
    private func giveUp() {
        let waiting = state.withLock { state in
            guard state.isLooking else { return [AsyncStream<Bool>.Continuation]() }
            state.isStuck = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.yield(false) }
    }
}
