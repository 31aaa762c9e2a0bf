package import NetworkCore
import Synchronization

/// A credential that is read again where it is kept, in a file or by a program, after a 401, so that
/// rotating it needs no reload.
package final class RotatingAuthorizer: Authorizing {
    private struct State {
        var credential: Credential
        /// Whether it is being read, for all waiters.
        var isLooking = false
        /// Whether that takes so long that no one waits for it any more.
        var isStuck = false
        /// Callers that wait to learn whether there is another credential.
        var waiting: [AsyncStream<Bool>.Continuation] = []
        /// When a read that found nothing new may be followed by another.
        var nextRead: ContinuousClock.Instant?
    }

    /// What reading costs, and how often it is done.
    package struct Effort: Sendable {
        /// How long callers wait.
        var patience: Duration
        /// How long after a read without another credential no other is made.
        var pause: Duration

        package init(patience: Duration, pause: Duration) {
            (self.patience, self.pause) = (patience, pause)
        }

        /// A file, which is small and usually local.
        package static let file = Effort(patience: .seconds(5), pause: .zero)
        /// A program, which may run for 10 s: a key that is wrong for good must not start one for each
        /// request.
        package static let program = Effort(patience: .seconds(10), pause: .seconds(1))
    }

    package let kind: String
    package let fieldName: HTTPFieldName
    private let effort: Effort
    private let read: @Sendable () async throws -> StaticAuthorizer
    private let onChange: @Sendable () -> Void
    private let onNoChange: @Sendable () -> Void
    private let onFault: @Sendable (any Error) -> Void
    private let state: Mutex<State>

    /// Makes an authorizer.
    ///
    /// - Parameters:
    ///   - first: the credential as it was read first.
    ///   - effort: what reading it costs.
    ///   - read: reads it again.
    ///   - onChange: called when a new credential is used from now on.
    ///   - onNoChange: called when the credential was rejected and there is no other.
    ///   - onFault: called with the reason when it cannot be read; the credential stays.
    package init(
        _ first: StaticAuthorizer,
        effort: Effort = .file,
        read: @escaping @Sendable () async throws -> StaticAuthorizer,
        onChange: @escaping @Sendable () -> Void,
        onNoChange: @escaping @Sendable () -> Void = {},
        onFault: @escaping @Sendable (any Error) -> Void
    ) {
        kind = first.kind
        fieldName = first.fieldName
        state = Mutex(State(credential: first.credential(until: nil).numbered(1)))
        self.effort = effort
        self.read = read
        self.onChange = onChange
        self.onNoChange = onNoChange
        self.onFault = onFault
    }

    /// Itself: nothing waits for a credential.
    package func timed() -> any Authorizing { self }

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

    /// Whether there is a newer credential than the rejected one; reads it if necessary, once for all
    /// callers that wait.
    private func isRenewed(since refused: Int) async -> Bool {
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        let (isKnown, isFirst): (Bool?, Bool) = state.withLock { state in
            guard state.credential.generation == refused else { return (true, false) }
            guard !state.isStuck, state.nextRead.map({ $0 <= .now }) ?? true else {
                return (false, false)
            }
            state.waiting.append(answer)
            defer { state.isLooking = true }
            return (nil, !state.isLooking)
        }
        if let isKnown { return isKnown }
        if isFirst {
            // Not on a worker's loop: a file may be on a slow medium. Not part of the caller's task: a
            // caller that gives up leaves the read to the others.
            Task(executorPreference: globalConcurrentExecutor) { await self.read(after: refused) }
        }
        // Ends with the task that waits, too.
        for await isRenewed in answers { return isRenewed }
        return false
    }

    private func read(after refused: Int) async {
        // Cancelled when it has been read.
        let bound = Task {
            try await Task.sleep(for: self.effort.patience)
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
            if case .success(let found) = found,
                found.secrets != state.credential.secrets
            {
                state.credential = found.numbered(refused + 1)
                isRenewed = true
            }
            state.nextRead = isRenewed || effort.pause == .zero ? nil : .now + effort.pause
            defer { state.waiting = [] }
            return (isRenewed, state.waiting)
        }
        switch found {
        case .failure(let error): onFault(error)
        case .success: if isRenewed { onChange() } else { onNoChange() }
        }
        for waiter in waiting { waiter.yield(isRenewed) }
    }

    /// Ends the wait for a medium that does not answer.
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
