import EventIO

extension Daemon {
    /// Moves the clocks of all loops forward: what tests have in place of waiting for a timeout.
    package func advanceClocks(by duration: Duration) async {
        for worker in workers { await worker.call { $0.loop.advance(by: duration) } }
    }
}
