import Bytes
import CLibevent
import Glibc
import System

/// A connected stream socket on a loop: edge-triggered, registered once for its life, with async
/// waits that allocate nothing.
///
/// One task may wait for reading and one for writing at a time. It never leaves its loop.
// SAFETY: the event is freed in `close()`, which the loop calls, before the descriptor is closed;
// continuations are resumed exactly once because they are taken before they are resumed.
@safe package final class StreamSocket: TimerEntry {
    // What every read and write looks at stands first, in few cache lines.
    let descriptor: Int32
    // SAFETY: one thread reads and writes these, in single loads and stores, so that no access overlaps.
    @exclusivity(unchecked) var hasPeerClosed = false
    @exclusivity(unchecked) private var hasClosed = false
    /// Whether the kernel may hold bytes for us.
    @exclusivity(unchecked) var mayBeReadable = true
    @exclusivity(unchecked) var isWritable = true
    @exclusivity(unchecked) var isAborted = false
    /// What ended the last wait for reading, and for writing.
    @exclusivity(unchecked) var readEnd = WaitEnd.event
    @exclusivity(unchecked) var writeEnd = WaitEnd.event
    /// Where the loop may read for the waiting reader, whether it has, and what went wrong.
    @exclusivity(unchecked) var hasFetched = false
    @exclusivity(unchecked) var fetchBuffer: ReadBuffer?
    package let loop: EventLoop
    @exclusivity(unchecked) var tls: TLSSession?
    @exclusivity(unchecked) var readWaiter: UnsafeContinuation<Void, Never>?
    @exclusivity(unchecked) var readDeadline = UInt64.max
    /// What was posted and is not sent yet, and how far it is.
    @exclusivity(unchecked) var posted: OutputBuffer?
    @exclusivity(unchecked) var postedOffset = 0
    /// Until when it must be sent, and why it could not be.
    @exclusivity(unchecked) var postDeadline = UInt64.max
    @exclusivity(unchecked) var postFault: IOError?
    @exclusivity(unchecked) var fetchFault: IOError?
    /// Called once when the peer goes away, whether anybody reads or not.
    package var onPeerClosed: (() -> Void)?
    @exclusivity(unchecked) var writeDeadline = UInt64.max
    /// When to look for a reset that hid behind bytes.
    @exclusivity(unchecked) private var lookDeadline = UInt64.max
    @exclusivity(unchecked) var writeWaiter: UnsafeContinuation<Void, Never>?
    /// Called instead of a waiting reader, when nobody waits.
    @exclusivity(unchecked) var parked: (() -> Void)?
    /// Whether the end of the stream follows what was posted.
    @exclusivity(unchecked) var endsBehindPost = false
    private var event: OpaquePointer?
    /// Who is at the other end.
    package let peer: SocketAddress
    /// Whether the peer has sent its end of the stream, or the connection broke.
    package var isPeerClosed: Bool { unsafe hasPeerClosed }
    /// Whether it speaks TLS.
    package var isEncrypted: Bool { unsafe tls != nil }
    /// Whether `close()` was called.
    package var isClosed: Bool { unsafe hasClosed }

    /// What ends a wait.
    enum WaitEnd {
        /// The kernel has something to say, or the socket is closed or aborted.
        case event
        case timeout
        case cancellation
    }

    /// Takes over a connected, non-blocking descriptor.
    ///
    /// - Throws: `IOError.exhausted` when the system watches no more of them; the descriptor is closed.
    package init(descriptor: Int32, peer: SocketAddress, on loop: EventLoop) throws(IOError) {
        loop.preconditionCurrent()
        self.descriptor = descriptor
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
        guard unsafe !isAborted else { return }
        unsafe isAborted = true
        resumeReader()
        resumeWriter()
    }

    /// Whether the TLS peer has none of the keys that are pinned, and pins are only reported.
    package var peerLacksPin: Bool { unsafe tls?.lacksPin ?? false }

    /// Closes the connection, after what the kernel takes of what is posted.
    ///
    /// Harmless when it is closed already.
    package func close() {
        guard !isClosed else { return }
        loop.preconditionCurrent()
        if hasPosted, unsafe !isAborted { flush() }
        dropPosted()
        unsafe hasClosed = true
        loop.remove(self)
        unsafe parked = nil
        unsafe tls?.shutdown()
        unsafe tls = nil
        unsafe event_free(event)
        unsafe event = nil
        onPeerClosed = nil
        _ = CLibevent.close(descriptor)
        resumeReader()
        resumeWriter()
    }

    /// Closes with a reset, so that the peer cannot take what it got for the whole.
    package func reset() {
        guard !isClosed else { return }
        dropPosted()
        var option = linger(l_onoff: 1, l_linger: 0)
        // SAFETY: the option lives for the call.
        _ = unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_LINGER,
            &option,
            socklen_t(MemoryLayout<linger>.size)
        )
        unsafe tls = nil
        close()
    }

    // MARK: - Events

    func ready(_ what: Int16) {
        if what & Int16(EV_CLOSED) != 0, !isPeerClosed {
            unsafe hasPeerClosed = true
            unsafe mayBeReadable = true
            tellPeerClosed()
        }
        if what & Int16(EV_READ) != 0 {
            unsafe mayBeReadable = true
            // libevent reports a reset as readable and writable only. Where nobody reads, one look
            // tells it from bytes that wait for their turn.
            if unsafe readWaiter == nil, unsafe parked == nil, onPeerClosed != nil, !isPeerClosed {
                lookForReset()
            }
        }
        if unsafe mayBeReadable, fetch() { resumeReader() }
        if what & Int16(EV_WRITE) != 0 {
            unsafe isWritable = true
            if hasPosted {
                unsafe writeDeadline = .max
                flush()
            }
            resumeWriter()
        }
    }

    /// A read took less than it could have: the kernel holds no more.
    ///
    /// But a reset may share the edge with the bytes: libevent reports it as readable and writable,
    /// which every socket with bytes is, and no other edge will follow. So somebody looks a little
    /// later; that moves a deadline, and costs nothing where the next bytes come sooner.
    @inline(__always)
    func assumeDrained() {
        unsafe mayBeReadable = false
        unsafe lookDeadline = loop.now &+ StreamSocket.lookDelay
        updateTimer()
    }

    private static let lookDelay: UInt64 = 50_000_000

    private func lookForReset() {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        // SAFETY: one structure on the stack, and no wait.
        guard unsafe poll(&state, 1, 0) == 1, state.revents & Int16(POLLERR) != 0, !isPeerClosed
        else { return }
        unsafe hasPeerClosed = true
        unsafe mayBeReadable = true
        resumeReader()
        tellPeerClosed()
    }

    private func tellPeerClosed() {
        guard let callback = onPeerClosed else { return }
        onPeerClosed = nil
        callback()
    }

    override public func fire() {
        let now = loop.now
        if unsafe lookDeadline <= now {
            unsafe lookDeadline = .max
            lookForReset()
        }
        if unsafe readDeadline <= now {
            unsafe readEnd = .timeout
            unsafe readDeadline = .max
            resumeReader()
        }
        if unsafe writeDeadline <= now {
            unsafe writeEnd = .timeout
            unsafe writeDeadline = .max
            if unsafe writeWaiter == nil, hasPosted { failPosted(.timedOut) }
            resumeWriter()
        }
        updateTimer()
    }

    func updateTimer() {
        guard !isClosed else { return }
        let deadline = unsafe min(readDeadline, writeDeadline, lookDeadline)
        if deadline == .max { loop.suspend(self) } else { loop.schedule(self, at: deadline) }
    }

    @inline(__always)
    func resumeReader() {
        if let waiter = unsafe readWaiter.take() {
            unsafe waiter.resume()
        } else if let wake = unsafe parked.take() {
            unsafe readDeadline = .max
            wake()
        }
    }

    @inline(__always)
    func resumeWriter() {
        if let waiter = unsafe writeWaiter.take() { unsafe waiter.resume() }
    }

    /// The kernel took no more, or has no connection yet.
    func setUnwritable() { unsafe isWritable = false }
    /// For TLS: the peer ended its stream.
    func setPeerClosed() { unsafe hasPeerClosed = true }
}
