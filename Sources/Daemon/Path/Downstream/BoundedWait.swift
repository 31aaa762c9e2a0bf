import NetproxyEventIO

extension LoopBound {
    /// Runs `body` on the loop, and returns when it calls back or the limit has passed.
    package func wait(
        atMost limit: Duration,
        for body: @escaping @Sendable (Value, @escaping () -> Void) -> Void
    ) async {
        await withCheckedContinuation { continuation in
            loop.submit {
                let once = Once { continuation.resume() }
                let timer = ActionTimer { once.call() }
                loop.schedule(timer, at: loop.deadline(after: limit))
                body(value) {
                    loop.remove(timer)
                    once.call()
                }
            }
        }
    }
}

/// A closure that is called at most once.
private final class Once {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) {
        self.body = body
    }

    func call() {
        body?()
        body = nil
    }
}
