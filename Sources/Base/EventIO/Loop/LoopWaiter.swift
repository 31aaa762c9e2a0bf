/// An event that one task awaits on a loop, with a deadline and without an allocation.
///
/// Not `Sendable`: it never leaves its loop.
// SAFETY: the continuation is taken before it is resumed, so it is resumed once.
@safe open class LoopWaiter: TimerEntry {
    // SAFETY: one thread, single loads and stores.
    @exclusivity(unchecked) private var continuation: UnsafeContinuation<Void, Never>?

    /// Suspends the task until `resume()`.
    package final func suspendTask() async {
        precondition(unsafe continuation == nil, "two tasks wait for one thing")
        await unsafe suspend { unsafe continuation = $0 }
    }

    /// Resumes the waiting task, if any.
    package final func resume() {
        if let waiting = unsafe continuation.take() { unsafe waiting.resume() }
    }
}

/// One wait of a task on a loop's timers.
final class Sleeper: LoopWaiter {
    static func sleep(on loop: EventLoop, until deadline: UInt64) async throws {
        loop.preconditionCurrent()
        try Task.checkCancellation()
        let sleeper = LoopBound(Sleeper(), on: loop)
        await withTaskCancellationHandler {
            loop.schedule(sleeper.value, at: deadline)
            await sleeper.value.suspendTask()
        } onCancel: {
            loop.submit {
                loop.remove(sleeper.value)
                sleeper.value.fire()
            }
        }
        try Task.checkCancellation()
    }

    override func fire() { resume() }
}
