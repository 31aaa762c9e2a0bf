/// One wait of a task on a loop's timers.
// SAFETY: the continuation is taken before it is resumed, so it is resumed once.
@safe final class Sleeper: TimerEntry {
    private var continuation: UnsafeContinuation<Void, Never>?

    static func sleep(on loop: EventLoop, until deadline: UInt64) async throws {
        loop.preconditionCurrent()
        try Task.checkCancellation()
        let sleeper = LoopBound(Sleeper(), on: loop)
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                unsafe sleeper.value.continuation = continuation
                loop.schedule(sleeper.value, at: deadline)
            }
        } onCancel: {
            loop.submit {
                loop.remove(sleeper.value)
                sleeper.value.fire()
            }
        }
        try Task.checkCancellation()
    }

    override func fire() {
        guard let continuation = unsafe continuation.take() else { return }
        unsafe continuation.resume()
    }
}
