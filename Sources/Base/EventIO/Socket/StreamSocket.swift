import CNetproxyLibevent
import NetproxyLiveObjects
import NetproxySystem

/// A connected stream socket: reads and writes of bytes, in the clear or over TLS.
///
/// It is registered with its loop once for its life, and never leaves the loop. `NonblockingSocket` waits.
// SAFETY: the event is freed in `close()`, which the loop calls, before the descriptor is closed.
@safe package final class StreamSocket: NonblockingSocket {
    // SAFETY: one thread reads and writes these, in single loads and stores, so that no access overlaps.
    @exclusivity(unchecked) var tls: TLSSession?
    /// The posted message that is not sent yet.
    @exclusivity(unchecked) var posted: PostedMessage?
    /// Whether the end of the stream follows the posted message.
    @exclusivity(unchecked) var endsAfterPosted = false
    private let life = LiveObject(StreamSocket.self)
    private var event: OpaquePointer?

    /// Whether the socket speaks TLS.
    package var isEncrypted: Bool { unsafe tls != nil }
    /// The address of this end.
    package var localAddress: SocketAddress? { descriptor.localAddress }
    /// The process at the other end of a unix socket.
    package var peerProcess: PeerProcess? { peer.isUnix ? descriptor.peerProcess : nil }

    /// Takes over a connected, non-blocking descriptor.
    ///
    /// - Throws: `IOError.exhausted` when the system watches no more of them; the descriptor is closed.
    package init(descriptor: Int32, peer: SocketAddress, on loop: EventLoop) throws(IOError) {
        loop.preconditionCurrent()
        super.init(SocketDescriptor(descriptor), peer: peer, on: loop)
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

    /// Closes the connection, after sending as much of a posted message as the kernel accepts.
    ///
    /// Does nothing on a closed socket.
    package func close() {
        guard !isClosed else { return }
        loop.preconditionCurrent()
        if hasPosted, !isAborted { flushPosted() }
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

    /// Closes with a reset, so that the peer cannot mistake a part of the message for the whole.
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
            // libevent reports a reset as readable and writable only. If no task reads, one check
            // distinguishes it from bytes that wait for their turn.
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
}

extension StreamSocket {
    /// Watches whether the peer is there while more is sent than it may have room for.
    ///
    /// If the peer is gone, every wait ends with `.unresponsive`; a slow peer does not matter.
    package func watchPeer(_ span: PeerWatch.Span) {
        guard !peer.isUnix, !isClosed, unsafe peerWatch == nil else { return }
        descriptor.limitSilence(milliseconds: 0)
        let watch = PeerWatch(descriptor, on: loop, for: span) { [unowned self] in
            lose(.unresponsive("nothing is acknowledged any more"))
        }
        unsafe peerWatch = watch
        watch.start()
    }

    /// Returns the watch to the kernel.
    package func stopWatchingPeer() {
        guard let watch = unsafe peerWatch.take() else { return }
        loop.remove(watch)
        limitSilence()
    }

    /// Ends every wait, and every later read and write, with the fault.
    private func lose(_ fault: IOError) {
        failPosted(fault)
        resumeWriter()
    }
}
