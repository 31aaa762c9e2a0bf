import CNetproxyLibevent
import NetproxyLiveObjects
import NetproxySystem

/// A connected stream socket that reads and writes bytes, unencrypted or over TLS.
///
/// It is registered with its loop once for its lifetime, and never leaves the loop. `NonblockingSocket`
/// implements the waits.
// SAFETY: `close()` frees the event on the loop before it closes the descriptor.
@safe package final class StreamSocket: NonblockingSocket {
    // SAFETY: one thread uses these in single loads and stores, so accesses never overlap.
    @exclusivity(unchecked) var tls: TLSSession?
    /// The posted message that has not been sent yet.
    @exclusivity(unchecked) var posted: PostedMessage?
    /// Whether the end of the stream follows the posted message.
    @exclusivity(unchecked) var endsAfterPosted = false
    private let life = LiveObject(StreamSocket.self)
    private var event: OpaquePointer?

    /// Whether the socket speaks TLS.
    package var isEncrypted: Bool { unsafe tls != nil }
    /// The local address.
    package var localAddress: SocketAddress? { descriptor.localAddress }
    /// The process at the other end of a unix socket.
    package var peerProcess: PeerProcess? { peer.isUnix ? descriptor.peerProcess : nil }

    /// Takes over a connected, nonblocking descriptor.
    ///
    /// - Throws: `IOError.exhausted` if the system cannot watch more of them; the descriptor is then closed.
    package init(descriptor: Int32, peer: SocketAddress, on loop: EventLoop) throws(IOError) {
        loop.preconditionCurrent()
        super.init(SocketDescriptor(descriptor), peer: peer, on: loop)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let what = Int16(EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST)
        unsafe event = event_new(loop.base, descriptor, what, socketReady, context)
        guard unsafe event_add(event, nil) == 0 else {
            // Kernel memory or the limit in /proc/sys/fs/epoll/max_user_watches is exhausted.
            let reason = describe(errno: systemError())
            close()
            throw .exhausted("epoll: \(reason), see /proc/sys/fs/epoll/max_user_watches")
        }
    }

    deinit {
        precondition(isClosed, "a socket is closed on its loop before it goes away")
    }

    // MARK: - Closing

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

    /// Closes with a reset, so that the peer cannot mistake a partial message for a complete one.
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
            // libevent reports a reset only as readable and writable. If no task reads, one check
            // distinguishes it from unread bytes.
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
    /// Watches the peer's acknowledgments while more data is sent than the peer may have room for.
    ///
    /// If the peer is gone, every wait ends with `.unresponsive`; a slow peer is accepted.
    package func watchPeer(_ span: PeerWatch.Span) {
        guard !peer.isUnix, !isClosed, unsafe peerWatch == nil else { return }
        descriptor.limitSilence(milliseconds: 0)
        let watch = PeerWatch(descriptor, on: loop, for: span) { [unowned self] in
            lose(.unresponsive("nothing is acknowledged any more"))
        }
        unsafe peerWatch = watch
        watch.start()
    }

    /// Stops the watch and restores the kernel's own limit.
    package func stopWatchingPeer() {
        guard let watch = unsafe peerWatch.take() else { return }
        loop.remove(watch)
        limitSilence()
    }

    /// Ends every wait, and every later read and write, with the error.
    private func lose(_ fault: IOError) {
        failPosted(fault)
        resumeWriter()
    }
}
