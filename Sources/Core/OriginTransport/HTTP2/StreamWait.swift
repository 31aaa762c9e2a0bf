package import NetproxyEventIO

/// The reason for the end of a wait; of several reasons, the greatest one applies.
package enum WaitEnd: Int, Comparable, Sendable {
    /// The deadline has passed.
    case deadline
    /// An event occurred on the stream.
    case news
    /// The caller no longer wants this wait.
    case canceled
    /// The exchange has ended, and later waits end immediately.
    case over

    package static func < (left: WaitEnd, right: WaitEnd) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The waits of one task in one direction of a stream.
package class StreamWait: LoopWaiter {
    package final let loop: EventLoop
    private var phase = Phase.idle

    private enum Phase {
        case idle, waiting
        case ended(WaitEnd)
    }

    package init(on loop: EventLoop) {
        self.loop = loop
        super.init()
    }

    /// Waits for a call of `end`, or for the deadline.
    package final func wait(until deadline: UInt64) async -> WaitEnd {
        if case .ended(.over) = phase { return .over }
        phase = .waiting
        if deadline < .max { loop.schedule(self, at: deadline) }
        while case .waiting = phase { await suspendTask() }
        if deadline < .max { loop.suspend(self) }
        guard case .ended(let reason) = phase else { return .over }
        if reason != .over { phase = .idle }
        return reason
    }

    /// Ends the current wait; only `over` also ends later ones.
    package final func endWait(_ reason: WaitEnd) {
        switch phase {
        case .idle: if reason == .over { phase = .ended(.over) }
        case .waiting:
            phase = .ended(reason)
            resume()
        case .ended(let earlier): phase = .ended(max(earlier, reason))
        }
    }

    override package final func fire() { endWait(.deadline) }
}
