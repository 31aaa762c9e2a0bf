/// The wait of one task until a socket can be read or written.
// SAFETY: the continuation is taken before it is resumed, so it is resumed once.
@safe struct SocketWait {
    /// The reason for the end of the wait.
    enum End {
        /// The kernel reported something, or the socket was closed or aborted.
        case event
        case timeout
        case cancellation
    }

    private(set) var end = End.event
    /// The deadline of the wait, on the loop's clock.
    private(set) var deadline = UInt64.max
    private var continuation: UnsafeContinuation<Void, Never>?

    /// Whether a task waits.
    var isUnderWay: Bool { unsafe continuation != nil }

    /// Begins a wait; the task then suspends with `suspended`.
    @inline(__always)
    mutating func begin(until deadline: UInt64) {
        precondition(!isUnderWay, "two tasks wait for one direction of a socket")
        end = .event
        self.deadline = deadline
    }

    @inline(__always)
    mutating func suspended(_ continuation: UnsafeContinuation<Void, Never>) {
        unsafe self.continuation = continuation
    }

    /// Clears the deadline.
    @inline(__always)
    mutating func clearDeadline() { deadline = .max }

    /// Sets a deadline without a waiting task.
    mutating func setDeadline(_ deadline: UInt64) { self.deadline = deadline }

    /// Records the reason for the end of the wait; `take()` then ends it.
    mutating func finish(_ end: End) {
        self.end = end
        deadline = .max
    }

    /// Returns the continuation to resume, once.
    @inline(__always)
    mutating func take() -> UnsafeContinuation<Void, Never>? { unsafe continuation.take() }
}

/// Suspends the task until the continuation is resumed, on its current executor.
///
/// `withUnsafeContinuation` has its caller's isolation as a parameter. It is always `nil` here, but the
/// compiler cannot know that, and makes the task look up its executor before and after under a lock: 300
/// instructions per wait. The name used here is public and part of the ABI. If a compiler drops it, the other
/// function does the same, only more slowly.
// SAFETY: `body` stores the continuation, and the code that removes it resumes it once.
@inline(__always)
func suspend(
    _ body: (UnsafeContinuation<Void, Never>) -> Void
) async {
    await unsafe _unsafeInheritExecutor_withUnsafeContinuation(body)
}
