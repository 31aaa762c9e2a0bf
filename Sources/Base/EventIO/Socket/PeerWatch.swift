/// Decides whether the peer of a connection is still there.
///
/// The decision depends on TCP's acknowledgments, never on the time to a response.
struct PeerLiveness {
    /// The longest time without an acknowledgment: 15 s, in nanoseconds.
    ///
    /// Together with the time to detect it and to open another connection, a dead peer costs less than 30 s.
    static let patience: UInt64 = 15_000_000_000

    /// The start of the period in which every check found unacknowledged data.
    private var since: UInt64?

    /// Checks the peer.
    ///
    /// - Parameters:
    ///   - data: TCP's information about sent data.
    ///   - now: the time of the check, in nanoseconds.
    /// - Returns: whether the peer is gone.
    mutating func isGone(_ data: SentData, at now: UInt64) -> Bool {
        guard data.isUnanswered else {
            since = nil
            return false
        }
        // The last acknowledgment may be older than the data that is unacknowledged now.
        let begin = since ?? now
        since = begin
        return min(now &- begin, data.silence) >= PeerLiveness.patience
    }
}

/// Watches the peer of a connection during large transfers.
///
/// The kernel's own limit, `TCP_USER_TIMEOUT`, also ends connections to a live peer that does not read: a
/// server that is busy with another request, or a tunnel under back pressure. It suits messages that fit into
/// any peer's buffers. For longer messages it is off, and this type checks every few seconds.
package final class PeerWatch: TimerEntry {
    /// The duration of a watch.
    package enum Span {
        /// Until the watch is stopped.
        case exchange
        /// While data is unacknowledged; the watch starts again with the next bytes.
        case delivery
    }

    /// The time between checks: 3 s.
    private static let pause = Duration.seconds(3)

    private let descriptor: SocketDescriptor
    private let loop: EventLoop
    private let span: Span
    private let onGone: () -> Void
    private var liveness = PeerLiveness()
    /// Whether the watch waits for bytes to be sent.
    private(set) var isResting = true

    init(
        _ descriptor: SocketDescriptor,
        on loop: EventLoop,
        for span: Span,
        onGone: @escaping () -> Void
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.span = span
        self.onGone = onGone
    }

    /// Schedules the next check.
    func start() {
        isResting = false
        loop.schedule(self, at: loop.deadline(after: PeerWatch.pause))
    }

    package override func fire() {
        guard let data = descriptor.flight else { return }
        if liveness.isGone(data, at: loop.now) { return onGone() }
        if data.isDelivered, case .delivery = span { isResting = true } else { start() }
    }
}
