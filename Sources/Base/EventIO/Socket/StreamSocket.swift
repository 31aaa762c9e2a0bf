import CNetproxyLibevent
import NetproxyBytes
import NetproxyLiveObjects
import NetproxySystem

/// A connected stream socket on a loop: edge-triggered, registered once for its life, with async
/// waits that allocate nothing.
///
/// One task may wait for reading and one for writing at a time. It never leaves its loop.
// SAFETY: the event is freed in `close()`, which the loop calls, before the descriptor is closed;
// continuations are resumed exactly once because they are taken before they are resumed.
@safe package final class StreamSocket: FlushEntry {
    // What every read and write uses comes first, in few cache lines.
    let descriptor: SocketDescriptor
    // SAFETY: one thread reads and writes these, in single loads and stores, so that no access overlaps.
    @exclusivity(unchecked) var readiness = SocketReadiness()
    /// Whether `abort()` was called.
    @exclusivity(unchecked) private(set) var hasAborted = false
    @exclusivity(unchecked) private var hasClosed = false
    /// Where the loop may read for the waiting reader.
    @exclusivity(unchecked) var fetch = Fetch()
    package let loop: EventLoop
    @exclusivity(unchecked) var tls: TLSSession?
    @exclusivity(unchecked) var reader = SocketWait()
    /// What was posted and is not sent yet.
    @exclusivity(unchecked) var posted: PostedMessage?
    /// Why a posted message could not be sent.
    @exclusivity(unchecked) var postFault: IOError?
    /// Called once when the peer goes away, whether anything reads or not.
    package var onPeerClosed: (() -> Void)?
    @exclusivity(unchecked) var writer = SocketWait()
    /// When to check for a reset that came with the last bytes.
    @exclusivity(unchecked) private var resetCheck = UInt64.max
    /// Called once instead of a waiting reader, while no task reads.
    @exclusivity(unchecked) var parked: (() -> Void)?
    /// Whether the end of the stream follows what was posted.
    @exclusivity(unchecked) var endsAfterPosted = false
    /// Watches a peer to which much is sent.
    @exclusivity(unchecked) var peerWatch: PeerWatch?
    /// Why the last send or read failed, for TLS, which only says that it did.
    @exclusivity(unchecked) var lastFailure: Int32 = 0
    private let life = LiveObject(StreamSocket.self)
    private var event: OpaquePointer?
    /// The address of the other end.
    package let peer: SocketAddress

    /// Whether the peer has sent its end of the stream, or the connection broke.
    package var isPeerClosed: Bool { unsafe readiness.isPeerClosed }
    /// Whether it speaks TLS.
    package var isEncrypted: Bool { unsafe tls != nil }
    /// Whether `close()` was called.
    package var isClosed: Bool { unsafe hasClosed }
    /// Whether `abort()` was called.
    package var isAborted: Bool { unsafe hasAborted }
    /// The address of this end.
    package var localAddress: SocketAddress? { descriptor.localAddress }
    /// The process at the other end of a unix socket.
    package var peerProcess: PeerProcess? { peer.isUnix ? descriptor.peerProcess : nil }

    /// Takes over a connected, non-blocking descriptor.
    ///
    /// - Throws: `IOError.exhausted` when the system watches no more of them; the descriptor is closed.
    package init(descriptor: Int32, peer: SocketAddress, on loop: EventLoop) throws(IOError) {
        loop.preconditionCurrent()
        self.descriptor = SocketDescriptor(descriptor)
        self.peer = peer
        self.loop = loop
        super.init()
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let what = Int16(EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST)
        unsafe event = event_new(loop.base, descriptor, what, socketReady, context)
        guard unsafe event_add(event, nil) == 0 else {
            // Out of kernel memory, or of what /proc/sys/fs/epoll/max_user_watches allows.
            let reason = describe(errno: systemError())
            close()
            throw .exhausted("epoll: \(reason), see /proc/sys/fs/epoll/max_user_watches")
        }
    }

    deinit {
        precondition(isClosed, "a socket is closed on its loop before it goes away")
    }

    // MARK: - Ending

    /// Ends every wait on the socket with `.aborted`; its owner then closes it.
    package func abort() {
        guard unsafe !hasAborted else { return }
        unsafe hasAborted = true
        resumeReader()
        resumeWriter()
    }

    @inline(__always)
    func checkUsable() throws(IOError) {
        if unsafe hasAborted || hasClosed { throw .aborted }
    }

    /// Closes the connection, after what the kernel takes of what is posted.
    ///
    /// Harmless when it is closed already.
    package func close() {
        guard !isClosed else { return }
        loop.preconditionCurrent()
        if hasPosted, unsafe !hasAborted { flushPosted() }
        dropPosted()
        unsafe hasClosed = true
        loop.remove(self)
        if let watch = unsafe peerWatch.take() { loop.remove(watch) }
        unsafe parked = nil
        unsafe tls?.shutdown()
        unsafe tls = nil
        unsafe event_free(event)
        unsafe event = nil
        onPeerClosed = nil
        descriptor.close()
        resumeReader()
        resumeWriter()
    }

    /// Closes with a reset, so that the peer cannot mistake what it got for the whole.
    package func reset() {
        guard !isClosed else { return }
        dropPosted()
        descriptor.resetOnClose()
        unsafe tls = nil
        close()
    }

    // MARK: - Events

    func ready(_ what: Int16) {
        if what & Int16(EV_CLOSED) != 0, !isPeerClosed {
            unsafe readiness.peerClosed()
            reportPeerClosed()
        }
        if what & Int16(EV_READ) != 0 {
            unsafe readiness.becameReadable()
            // libevent reports a reset as readable and writable only. Where nothing reads, one check
            // tells it from bytes that wait for their turn.
            if unsafe !reader.isUnderWay, unsafe parked == nil, onPeerClosed != nil {
                checkForReset()
            }
        }
        if unsafe readiness.mayBeReadable, fetchForReader() { resumeReader() }
        if what & Int16(EV_WRITE) != 0 {
            unsafe readiness.becameWritable()
            if hasPosted {
                unsafe writer.clearDeadline()
                flushPosted()
            }
            resumeWriter()
        }
    }

    /// Has the socket checked for a reset a little later, after a read that emptied the kernel's buffer.
    ///
    /// A reset may share the report with the bytes: libevent reports it as readable and writable,
    /// which every socket with bytes is, and no other report will follow. The check moves a deadline,
    /// and costs nothing where the next bytes come sooner.
    @inline(__always)
    func checkForResetLater() {
        unsafe resetCheck = loop.now &+ StreamSocket.resetCheckDelay
        updateTimer()
    }

    private static let resetCheckDelay: UInt64 = 50_000_000

    private func checkForReset() {
        guard !isPeerClosed, descriptor.isBroken else { return }
        unsafe readiness.peerClosed()
        resumeReader()
        reportPeerClosed()
    }

    private func reportPeerClosed() {
        if let callback = onPeerClosed.take() { callback() }
    }

    override package func fire() {
        let now = loop.now
        if unsafe resetCheck <= now {
            unsafe resetCheck = .max
            checkForReset()
        }
        if unsafe reader.deadline <= now {
            unsafe reader.finish(.timeout)
            resumeReader()
        }
        if unsafe writer.deadline <= now {
            unsafe writer.finish(.timeout)
            if unsafe !writer.isUnderWay, hasPosted { failPosted(.timedOut) }
            resumeWriter()
        }
        updateTimer()
    }

    override public func flush() { flushPosted() }

    func updateTimer() {
        guard !isClosed else { return }
        let deadline = unsafe min(reader.deadline, writer.deadline, resetCheck)
        if deadline == .max { loop.suspend(self) } else { loop.schedule(self, at: deadline) }
    }

    @inline(__always)
    func resumeReader() {
        if let waiter = unsafe reader.take() {
            unsafe waiter.resume()
        } else if let wake = unsafe parked.take() {
            unsafe reader.clearDeadline()
            wake()
        }
    }

    @inline(__always)
    func resumeWriter() {
        if let waiter = unsafe writer.take() { unsafe waiter.resume() }
    }
}
