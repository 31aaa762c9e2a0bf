package import Bytes
import CLibevent
import Glibc

/// A connected stream socket on a loop: edge-triggered, registered once for its life, with async
/// waits that allocate nothing.
///
/// One task may wait for reading and one for writing at a time. It never leaves its loop.
// SAFETY: the event is freed in `close()`, which the loop calls, before the descriptor is closed;
// continuations are resumed exactly once because they are taken before they are resumed.
@safe package final class StreamSocket: TimerEntry {
    package let loop: EventLoop
    /// Who is at the other end.
    package let peer: SocketAddress
    /// Called once when the peer goes away, whether anybody reads or not.
    package var onPeerClosed: (() -> Void)?
    /// Whether the peer has sent its end of the stream, or the connection broke.
    package var isPeerClosed: Bool { unsafe hasPeerClosed }
    /// Whether the kernel may hold bytes for us, as far as is known.
    package var isReadable: Bool { unsafe mayBeReadable }
    /// Whether it speaks TLS.
    package var isEncrypted: Bool { unsafe tls != nil }
    /// Whether `close()` was called.
    package var isClosed: Bool { unsafe hasClosed }

    let descriptor: Int32
    // SAFETY: one thread reads and writes these, in single loads and stores, so that no access overlaps.
    @exclusivity(unchecked) private var hasPeerClosed = false
    @exclusivity(unchecked) private var hasClosed = false
    @exclusivity(unchecked) var tls: TLSSession?
    /// Whether the kernel may hold bytes for us.
    @exclusivity(unchecked) var mayBeReadable = true
    @exclusivity(unchecked) private var isWritable = true
    @exclusivity(unchecked) private var isAborted = false
    private var event: OpaquePointer?
    @exclusivity(unchecked) private var readWaiter: UnsafeContinuation<Void, Never>?
    @exclusivity(unchecked) private var writeWaiter: UnsafeContinuation<Void, Never>?
    @exclusivity(unchecked) private var readDeadline = UInt64.max
    @exclusivity(unchecked) private var writeDeadline = UInt64.max
    /// When to look for a reset that hid behind bytes.
    @exclusivity(unchecked) private var lookDeadline = UInt64.max
    /// Called instead of a waiting reader, when nobody waits.
    @exclusivity(unchecked) private var parked: (() -> Void)?
    @exclusivity(unchecked) private var isReadTimedOut = false
    @exclusivity(unchecked) private var isReadCancelled = false
    @exclusivity(unchecked) private var isWriteTimedOut = false

    /// Takes over a connected, non-blocking descriptor.
    package init(descriptor: Int32, peer: SocketAddress, on loop: EventLoop) {
        loop.preconditionCurrent()
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        super.init()
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let what = Int16(EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST)
        unsafe event = event_new(loop.base, descriptor, what, socketReady, context)
        let added = unsafe event_add(event, nil)
        precondition(added == 0, "epoll takes every connected socket")
    }

    deinit {
        precondition(isClosed, "a socket is closed on its loop before it goes away")
    }

    // MARK: - Reading

    /// Reads what is there into the buffer, and waits only if nothing is.
    ///
    /// - Parameters:
    ///   - buffer: where the bytes go.
    ///   - minimum: how much free space it offers at least, in bytes.
    ///   - deadline: on the loop's clock.
    /// - Returns: how many bytes came; 0 at the end of the stream.
    /// - Throws: `.timedOut`, `.closedByPeer` on a reset, `.aborted`, `.system`.
    package func read(
        into buffer: ReadBuffer,
        minimum: Int = 4096,
        until deadline: UInt64
    ) async throws(IOError) -> Int {
        while true {
            if let count = try readNow(into: buffer, minimum: minimum) { return count }
            try await waitReadable(until: deadline)
        }
    }

    /// Reads what is there without waiting; nothing if there is nothing.
    package func readNow(
        into buffer: ReadBuffer,
        minimum: Int = 4096
    ) throws(IOError) -> Int? {
        if unsafe isAborted || isClosed { throw .aborted }
        guard unsafe mayBeReadable else { return nil }
        buffer.reserve(minimum, from: loop.slabs)
        if let tls = unsafe tls { return try tls.read(into: buffer, from: self) }
        var failure: Int32 = 0
        var isDrained = false
        let count = unsafe buffer.withFreeSpace { free in
            var count: Int
            repeat {
                count = unsafe CLibevent.read(descriptor, free.baseAddress, free.count)
                failure = count < 0 ? systemError() : 0
            } while failure == EINTR
            isDrained = count < free.count
            return max(count, 0)
        }
        if failure == EAGAIN {
            unsafe mayBeReadable = false
            return nil
        }
        if failure != 0 { throw readFailure(failure) }
        if count == 0 {
            unsafe hasPeerClosed = true
            return 0
        }
        // A short read means drained, unless the end of the stream shares the edge.
        if isDrained, !isPeerClosed { assumeDrained() }
        return count
    }

    /// Returns when there may be something to read.
    ///
    /// - Throws: `.timedOut`, `.aborted`.
    package func waitReadable(until deadline: UInt64) async throws(IOError) {
        while unsafe !mayBeReadable {
            if unsafe isAborted || isClosed { throw .aborted }
            precondition(unsafe readWaiter == nil, "two tasks read from one socket")
            unsafe isReadTimedOut = false
            unsafe readDeadline = deadline
            updateTimer()
            await unsafe withUnsafeContinuation { unsafe readWaiter = $0 }
            unsafe readDeadline = .max
            if unsafe isReadTimedOut, unsafe !mayBeReadable { throw .timedOut }
            if unsafe isReadCancelled {
                unsafe isReadCancelled = false
                throw .aborted
            }
        }
        if unsafe isAborted || isClosed { throw .aborted }
    }

    /// As `waitReadable`, with the failure as a value: for callers that wait inside a closure.
    package func settleReadable(until deadline: UInt64) async -> IOError? {
        do throws(IOError) {
            try await waitReadable(until: deadline)
            return nil
        } catch {
            return error
        }
    }

    /// Calls `wake` once when there may be something to read or the deadline has passed: a wait that
    /// costs no task.
    package func park(until deadline: UInt64, wake: @escaping () -> Void) {
        unsafe parked = wake
        unsafe readDeadline = deadline
        updateTimer()
    }

    /// Ends the present wait for reading, if there is one, with `.aborted`; the socket stays usable.
    package func cancelRead() {
        if unsafe parked != nil { return resumeReader() }
        guard unsafe readWaiter != nil else { return }
        unsafe isReadCancelled = true
        resumeReader()
    }

    /// Whether the connection has nothing to say: no bytes, no end, no fault.
    ///
    /// What a pooled connection must be before it is used again.
    package var isQuiet: Bool {
        unsafe !mayBeReadable && !isPeerClosed && !isAborted && !isClosed
    }

    /// Reads once where the kernel's state is not known, so that `isQuiet` tells the truth.
    package func probe() {
        guard unsafe mayBeReadable, !isClosed else { return }
        if let tls = unsafe tls { return tls.probe(self) }
        var byte: UInt8 = 0
        // SAFETY: one byte on the stack, and MSG_PEEK leaves the stream as it is.
        let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK))
        if count < 0, systemError() == EAGAIN { unsafe mayBeReadable = false }
    }

    // MARK: - Writing

    /// Writes the output and then the body, gathered, and waits while the kernel is full.
    ///
    /// - Throws: `.timedOut` when nothing could be written until the deadline, `.closedByPeer`,
    ///   `.aborted`, `.system`.
    package func write(
        _ output: OutputBuffer,
        _ body: ByteSlice? = nil,
        until deadline: UInt64
    ) async throws(IOError) {
        var body = body
        if let written = try writeNow(output, &body) {
            try await write(output, body, from: written, until: deadline)
        }
    }

    /// Writes as much of the output and the body as the kernel takes at once.
    ///
    /// The body may be moved behind the output: whoever goes on goes on with both as they are then.
    ///
    /// - Returns: how many bytes were written; nothing if that was all.
    /// - Throws: `.closedByPeer`, `.aborted`, `.system`.
    package func writeNow(
        _ output: OutputBuffer,
        _ body: inout ByteSlice?
    ) throws(IOError) -> Int? {
        if unsafe tls != nil, let small = body, small.count + output.count <= Slab.standardCapacity
        {
            // One record instead of two.
            output.append(small.span)
            body = nil
        }
        var written = 0
        let total = output.count + (body?.count ?? 0)
        while written < total {
            guard let count = try writeSome(output, body, from: written) else { return written }
            written += count
        }
        return nil
    }

    /// Writes the bytes behind the first `offset`, and waits while the kernel is full.
    ///
    /// - Throws: what `write(_:_:until:)` throws.
    package func write(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int,
        until deadline: UInt64
    ) async throws(IOError) {
        var written = offset
        let total = output.count + (body?.count ?? 0)
        while written < total {
            if let count = try writeSome(output, body, from: written) {
                written += count
            } else {
                try await waitWritable(until: deadline)
            }
        }
    }

    /// Writes some of the bytes behind the first `offset`; nothing if the kernel is full.
    private func writeSome(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        if unsafe isAborted || isClosed { throw .aborted }
        guard unsafe isWritable else { return nil }
        if let tls = unsafe tls { return try tls.write(output, body, from: offset, to: self) }
        let headLeft = max(output.count - offset, 0)
        let bodyOffset = max(offset - output.count, 0)
        let bodyLeft = (body?.count ?? 0) - bodyOffset
        var count: Int
        var failure: Int32
        repeat {
            // SAFETY: output and body are kept alive by the caller for the duration of the call.
            if headLeft > 0, bodyLeft > 0, let body {
                var pieces = unsafe (
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: output.unsafeAddress + offset),
                        iov_len: headLeft
                    ),
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: body.unsafeAddress),
                        iov_len: bodyLeft
                    )
                )
                count = unsafe withUnsafePointer(to: &pieces) { pointer in
                    unsafe pointer.withMemoryRebound(to: iovec.self, capacity: 2) {
                        unsafe writev(descriptor, $0, 2)
                    }
                }
            } else if headLeft > 0 {
                count = unsafe CLibevent.write(descriptor, output.unsafeAddress + offset, headLeft)
            } else if let body {
                count = unsafe CLibevent.write(
                    descriptor,
                    body.unsafeAddress + bodyOffset,
                    bodyLeft
                )
            } else {
                return 0
            }
            failure = count < 0 ? systemError() : 0
        } while failure == EINTR
        if failure == EAGAIN {
            unsafe isWritable = false
            return nil
        }
        if failure != 0 { throw writeFailure(failure) }
        return count
    }

    func waitWritable(until deadline: UInt64) async throws(IOError) {
        while unsafe !isWritable {
            if unsafe isAborted || isClosed { throw .aborted }
            precondition(unsafe writeWaiter == nil, "two tasks write to one socket")
            unsafe isWriteTimedOut = false
            unsafe writeDeadline = deadline
            updateTimer()
            await unsafe withUnsafeContinuation { unsafe writeWaiter = $0 }
            unsafe writeDeadline = .max
            if unsafe isWriteTimedOut, unsafe !isWritable { throw .timedOut }
        }
        if unsafe isAborted || isClosed { throw .aborted }
    }

    /// Sends the end of the stream, and goes on reading.
    package func shutdownWriting() {
        guard !isClosed else { return }
        unsafe tls?.shutdown(self)
        _ = shutdown(descriptor, Int32(SHUT_WR))
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

    /// Closes the connection.
    ///
    /// Harmless when it is closed already.
    package func close() {
        guard !isClosed else { return }
        loop.preconditionCurrent()
        unsafe hasClosed = true
        loop.remove(self)
        unsafe parked = nil
        unsafe tls?.shutdown(self)
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
            if let callback = onPeerClosed {
                onPeerClosed = nil
                callback()
            }
        }
        if what & Int16(EV_READ) != 0 {
            unsafe mayBeReadable = true
            // libevent reports a reset as readable and writable only. Where nobody reads, one look
            // tells it from bytes that wait for their turn.
            if unsafe readWaiter == nil, unsafe parked == nil, onPeerClosed != nil, !isPeerClosed {
                lookForReset()
            }
        }
        if unsafe mayBeReadable { resumeReader() }
        if what & Int16(EV_WRITE) != 0 {
            unsafe isWritable = true
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
        if let callback = onPeerClosed {
            onPeerClosed = nil
            callback()
        }
    }

    override public func fire() {
        let now = loop.now
        if unsafe lookDeadline <= now {
            unsafe lookDeadline = .max
            lookForReset()
        }
        if unsafe readDeadline <= now {
            unsafe isReadTimedOut = true
            unsafe readDeadline = .max
            resumeReader()
        }
        if unsafe writeDeadline <= now {
            unsafe isWriteTimedOut = true
            unsafe writeDeadline = .max
            resumeWriter()
        }
        updateTimer()
    }

    private func updateTimer() {
        guard !isClosed else { return }
        let deadline = unsafe min(readDeadline, writeDeadline, lookDeadline)
        if deadline == .max { loop.suspend(self) } else { loop.schedule(self, at: deadline) }
    }

    @inline(__always)
    private func resumeReader() {
        if let waiter = unsafe readWaiter.take() {
            unsafe waiter.resume()
        } else if let wake = unsafe parked.take() {
            unsafe readDeadline = .max
            wake()
        }
    }

    @inline(__always)
    private func resumeWriter() {
        if let waiter = unsafe writeWaiter.take() { unsafe waiter.resume() }
    }

    private func readFailure(_ code: Int32) -> IOError {
        unsafe hasPeerClosed = true
        switch code {
        case ECONNRESET, EPIPE: return .closedByPeer
        case ETIMEDOUT: return .timedOut
        default: return .system(describe(errno: code))
        }
    }

    private func writeFailure(_ code: Int32) -> IOError {
        switch code {
        case ECONNRESET, EPIPE: .closedByPeer
        default: .system(describe(errno: code))
        }
    }

    /// For TLS: the kernel took no more.
    func setUnwritable() { unsafe isWritable = false }
    /// For TLS: the peer ended its stream.
    func setPeerClosed() { unsafe hasPeerClosed = true }
}
