/// The wait of one task until a socket can be read, or written.
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
    /// When the wait ends, on the loop's clock.
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

    /// Forgets the deadline.
    @inline(__always)
    mutating func clearDeadline() { deadline = .max }

    /// Sets a deadline without a task that waits.
    mutating func setDeadline(_ deadline: UInt64) { self.deadline = deadline }

    /// Notes why the wait ends; `take()` then ends it.
    mutating func finish(_ end: End) {
        self.end = end
        deadline = .max
    }

    /// Returns the continuation to resume, once.
    @inline(__always)
    mutating func take() -> UnsafeContinuation<Void, Never>? { unsafe continuation.take() }
}

/// Suspends the task until the continuation is resumed, on whatever executor it is on.
///
/// `withUnsafeContinuation` takes its caller's isolation as a parameter. Here it is always none, but
/// the compiler cannot know that, and has the task look up its executor before and after, under a
/// lock: 300 instructions per wait. This name is public and part of the ABI; if a compiler drops it,
/// the other does the same, more slowly.
// SAFETY: `body` keeps the continuation, and whatever takes it out resumes it, once.
@inline(__always)
func suspend(
    _ body: (UnsafeContinuation<Void, Never>) -> Void
) async {
    await unsafe _unsafeInheritExecutor_withUnsafeContinuation(body)
}
