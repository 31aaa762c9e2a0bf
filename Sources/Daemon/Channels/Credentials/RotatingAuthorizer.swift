package import NetworkCore
import Synchronization

/// A credential from a file or a program, which is read again after a 401.
///
/// Rotating the credential requires no reload.
package final class RotatingAuthorizer: Authorizing {
    private struct State {
        var credential: Credential
        /// Whether a read is in progress for all waiters.
        var isLooking = false
        /// Whether the read takes so long that callers no longer wait for it.
        var isStuck = false
        /// The callers waiting for a new credential.
        var waiting: [AsyncStream<Bool>.Continuation] = []
        /// The time of the next permitted read, after a read without a new credential.
        var nextRead: ContinuousClock.Instant?
    }

    /// The cost of a read.
    package struct Effort: Sendable {
        /// The maximum time that callers wait.
        var patience: Duration
        /// The minimum time between a read without a new credential and the next read.
        var pause: Duration

        package init(patience: Duration, pause: Duration) {
            (self.patience, self.pause) = (patience, pause)
        }

        /// A file, which is small and usually local.
        package static let file = Effort(patience: .seconds(5), pause: .zero)
        /// A program, which may run for 10 s: a permanently wrong key must not start a program for each
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

    /// Creates an authorizer.
    ///
    /// - Parameters:
    ///   - first: the initial credential.
    ///   - effort: the cost of a read.
    ///   - read: reads the credential again.
    ///   - onChange: called when a new credential takes effect.
    ///   - onNoChange: called when the credential was rejected and there is no other.
    ///   - onFault: called with the error if the credential cannot be read; the old one stays in effect.
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

    /// Returns this authorizer: it never waits for a credential.
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

    /// Whether a newer credential than the rejected one exists.
    ///
    /// If necessary, the credential is read again, once for all waiting callers.
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
            // Do not read on a worker's loop: the file may be on a slow medium. Do not read in the caller's
            // task: canceling that task must not end the read for the others.
            Task(executorPreference: globalConcurrentExecutor) { await self.read(after: refused) }
        }
        // The loop also ends if the waiting task is canceled.
        for await isRenewed in answers { return isRenewed }
        return false
    }

    private func read(after refused: Int) async {
        // Canceled after the read.
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

    /// Ends the wait for an unresponsive medium.
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
