/// What TCP knows of the data that was sent on a connection.
struct SentData: Equatable {
    /// Whether the peer has acknowledged all of it.
    var isDelivered: Bool
    /// Whether segments, or probes of a full peer, are on their way without an acknowledgment.
    ///
    /// A peer that reads nothing, and answers the probes of its closed window, is not silent.
    var isUnanswered: Bool
    /// How long ago the last acknowledgment came, in nanoseconds.
    var silence: UInt64
}

/// Decides from what TCP acknowledges, and never from how long an answer takes, whether the other end
/// of a connection is still there.
struct PeerLiveness {
    /// How long a peer may acknowledge nothing: 15 s, in nanoseconds.
    ///
    /// With the time until it is noticed, and another connection in its place, a dead peer costs less
    /// than 30 s.
    static let patience: UInt64 = 15_000_000_000

    /// Since when something has been unanswered, at each look.
    private var since: UInt64?

    /// Takes a look.
    ///
    /// - Parameters:
    ///   - data: what TCP knows.
    ///   - now: the time of the look, in nanoseconds.
    /// - Returns: whether the peer is gone.
    mutating func isGone(_ data: SentData, at now: UInt64) -> Bool {
        guard data.isUnanswered else {
            since = nil
            return false
        }
        // The last acknowledgment may be older than what waits for one now.
        let begin = since ?? now
        since = begin
        return min(now &- begin, data.silence) >= PeerLiveness.patience
    }
}

/// Watches the peer of a connection on which much is sent.
///
/// The kernel's own limit, `TCP_USER_TIMEOUT`, also ends connections to a peer that lives but does not
/// read: a server that is busy with another request, or a tunnel under back pressure. It is right for
/// what fits into any peer's buffers; for everything else it is off, and this looks every few seconds.
package final class PeerWatch: TimerEntry {
    /// How long it goes on.
    package enum Span {
        /// Until it is stopped.
        case exchange
        /// While something is unacknowledged; it starts again with the next bytes.
        case delivery
    }

    /// How often it looks: 3 s.
    private static let pause = Duration.seconds(3)

    private let descriptor: SocketDescriptor
    private let loop: EventLoop
    private let span: Span
    private let onGone: () -> Void
    private var liveness = PeerLiveness()
    /// Whether it waits for bytes to be sent.
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

    /// Looks again in a while.
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

// MARK: - On a socket

extension StreamSocket {
    /// Has the kernel end the connection when what is sent is not acknowledged: for messages that fit
    /// into any peer's buffers.
    func limitSilence() {
        guard !peer.isUnix else { return }
        descriptor.limitSilence(milliseconds: Int32(PeerLiveness.patience / 1_000_000))
    }

    /// Watches whether the peer is there while more is sent than it may have room for.
    ///
    /// A peer that is gone ends every wait with `.unresponsive`; one that is slow is left alone.
    package func watchPeer(_ span: PeerWatch.Span) {
        guard !peer.isUnix, !isClosed, unsafe peerWatch == nil else { return }
        descriptor.limitSilence(milliseconds: 0)
        let watch = PeerWatch(descriptor, on: loop, for: span) { [unowned self] in
            lose(.unresponsive("nothing is acknowledged any more"))
        }
        unsafe peerWatch = watch
        watch.start()
    }

    /// Leaves the watch to the kernel again.
    package func stopWatchingPeer() {
        guard let watch = unsafe peerWatch.take() else { return }
        loop.remove(watch)
        limitSilence()
    }

    /// Whether what was sent has not been acknowledged for longer than any healthy way takes.
    package var isPeerSilent: Bool {
        guard let data = descriptor.flight else { return false }
        return data.isUnanswered && data.silence >= 1_000_000_000
    }

    /// Ends every wait, and every later read and write, with the fault.
    private func lose(_ fault: IOError) {
        failPosted(fault)
        resumeWriter()
    }
}
