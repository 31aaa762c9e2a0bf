package import NetproxyBytes

/// A nonblocking socket on a loop: the known state of the kernel's buffers, and the waits until it changes.
///
/// The socket is edge-triggered: the kernel reports a change once. One task may wait for reading and one for
/// writing at a time, and a wait allocates nothing. `StreamSocket` and OpenSSL (`SocketBIO`) read and write
/// through this type. It never leaves its loop.
// SAFETY: continuations are resumed exactly once because they are taken before they are resumed.
@safe package class NonblockingSocket: FlushEntry {
    /// The bytes that the loop reads on behalf of a waiting reader.
    struct Fetch {
        /// The buffer for the bytes; `nil` if no task waits, or if the task provides none.
        var buffer: ReadBuffer?
        /// Whether the loop has read into the buffer.
        var isDone = false
        /// The error of that read.
        var fault: IOError?
    }

    // The properties that every read and write uses come first, so that they share few cache lines.
    final let descriptor: SocketDescriptor
    // SAFETY: one thread uses these in single loads and stores, so accesses never overlap.
    @exclusivity(unchecked) final var readiness = SocketReadiness()
    @exclusivity(unchecked) private final var hasAborted = false
    @exclusivity(unchecked) final var hasClosed = false
    @exclusivity(unchecked) final var fetch = Fetch()
    package final let loop: EventLoop
    @exclusivity(unchecked) final var reader = SocketWait()
    @exclusivity(unchecked) final var writer = SocketWait()
    /// The reason for the loss of the connection; every later read and write throws this error.
    @exclusivity(unchecked) final var loss: IOError?
    /// Called once when the peer closes, whether or not a task reads.
    package final var onPeerClosed: (() -> Void)?
    /// The time to check for a reset that arrived with the last bytes.
    @exclusivity(unchecked) final var resetCheck = UInt64.max
    /// Called once instead of resuming a reader, while no task reads.
    @exclusivity(unchecked) final var parked: (() -> Void)?
    /// Watches the peer during large transfers.
    @exclusivity(unchecked) final var peerWatch: PeerWatch?
    /// The error number of the last failed send or read, for OpenSSL, which reports only the failure.
    @exclusivity(unchecked) private final var lastFailure: Int32 = 0
    /// The address of the peer.
    package final let peer: SocketAddress

    /// Whether the peer has ended its stream, or the connection broke.
    package final var isPeerClosed: Bool { unsafe readiness.isPeerClosed }
    /// Whether the socket is closed.
    package final var isClosed: Bool { unsafe hasClosed }
    /// Whether the socket was aborted.
    package final var isAborted: Bool { unsafe hasAborted }
    /// Whether the connection has nothing to report: no bytes, no end, no error.
    ///
    /// A pooled connection must be quiet before it is reused.
    package final var isQuiet: Bool {
        unsafe !readiness.mayBeReadable && !isPeerClosed && !isAborted && !isClosed && loss == nil
    }
    /// The error of the last failed call, for OpenSSL; without an error number, the stream ended.
    final var lastFault: IOError {
        let code = unsafe lastFailure
        return code == 0 ? .closedByPeer : IOError(ofConnection: code)
    }

    init(_ descriptor: SocketDescriptor, peer: SocketAddress, on loop: EventLoop) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
    }

    /// Ends every wait on the socket with `.aborted`; its owner then closes it.
    package final func abort() {
        guard unsafe !hasAborted else { return }
        unsafe hasAborted = true
        resumeReader()
        resumeWriter()
    }

    @inline(__always)
    final func checkUsable() throws(IOError) {
        if unsafe hasAborted || hasClosed { throw .aborted }
    }

    // MARK: - Transfers

    /// Receives bytes, and updates the known state of the kernel's buffer.
    @inline(__always)
    final func receive(
        _ bytes: UnsafeMutableRawPointer?,
        _ room: Int
    ) -> SocketDescriptor.Transfer {
        let transfer = unsafe descriptor.receive(bytes, room)
        switch transfer {
        case .count(0): unsafe readiness.readEnd()
        case .failure(let code):
            unsafe lastFailure = code
            unsafe readiness.readEnd()
        case .count(let count):
            if unsafe readiness.didRead(count, of: room) { checkForResetLater() }
        case .wouldBlock: unsafe readiness.drained()
        }
        return transfer
    }

    /// Updates the known state of the kernel's buffer after a send.
    @inline(__always)
    final func recordSend(_ transfer: SocketDescriptor.Transfer) -> SocketDescriptor.Transfer {
        switch transfer {
        case .count:
            if let watch = unsafe peerWatch, watch.isResting { watch.start() }
        case .wouldBlock: unsafe readiness.filled()
        case .failure(let code):
            unsafe lastFailure = code
            // The kernel reports a reset once, and this send received the report. Readers must find out by
            // reading, since no other event follows.
            unsafe readiness.becameReadable()
            resumeReader()
        }
        return transfer
    }

    // MARK: - Waits

    /// Returns when the socket may be readable.
    ///
    /// - Parameters:
    ///   - deadline: the deadline, on the loop's clock.
    ///   - buffer: the buffer for the first bytes, which the loop reads for all connections in a row before
    ///     it runs any task. The caller checks the buffer first.
    /// - Throws: `.timedOut`, `.aborted`.
    package final func waitReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async throws(IOError) {
        unsafe fetch.isDone = false
        while unsafe !readiness.mayBeReadable, unsafe !fetch.isDone {
            try checkUsable()
            unsafe reader.begin(until: deadline)
            updateTimer()
            unsafe fetch.buffer = buffer
            await unsafe suspend { unsafe reader.suspended($0) }
            unsafe fetch.buffer = nil
            unsafe reader.clearDeadline()
            switch unsafe reader.end {
            case .event: break
            // Bytes that have arrived in the meantime count.
            case .timeout:
                if unsafe !readiness.mayBeReadable, unsafe !fetch.isDone { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        try checkUsable()
    }

    /// Returns when the kernel may have room for more bytes.
    ///
    /// - Throws: `.timedOut`, `.aborted`, or the error that lost the connection.
    final func waitWritable(until deadline: UInt64) async throws(IOError) {
        while unsafe !readiness.isWritable {
            try checkUsable()
            unsafe writer.begin(until: deadline)
            updateTimer()
            await unsafe suspend { unsafe writer.suspended($0) }
            unsafe writer.clearDeadline()
            switch unsafe writer.end {
            case .event: if let fault = unsafe loss { throw fault }
            // Room that has become free in the meantime counts.
            case .timeout: if unsafe !readiness.isWritable { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        try checkUsable()
    }

    /// Calls `wake` once when the socket may be readable or the deadline has passed, without a waiting task.
    package final func park(until deadline: UInt64, wake: @escaping () -> Void) {
        unsafe parked = wake
        unsafe reader.setDeadline(deadline)
        updateTimer()
    }

    /// Ends the current wait for reading, if any, with `.aborted`; the socket stays usable.
    package final func cancelRead() {
        if unsafe parked != nil { return resumeReader() }
        guard unsafe reader.isUnderWay else { return }
        unsafe reader.finish(.cancellation)
        resumeReader()
    }

    /// Ends the current wait for writing, if any, with `.aborted`.
    ///
    /// The socket stays usable for reading; a partly written message remains incomplete.
    package final func cancelWrite() {
        guard unsafe writer.isUnderWay else { return }
        unsafe writer.finish(.cancellation)
        resumeWriter()
    }

    @inline(__always)
    final func resumeReader() {
        if let waiter = unsafe reader.take() {
            unsafe waiter.resume()
        } else if let wake = unsafe parked.take() {
            unsafe reader.clearDeadline()
            wake()
        }
    }

    @inline(__always)
    final func resumeWriter() {
        if let waiter = unsafe writer.take() { unsafe waiter.resume() }
    }

    final func updateTimer() {
        guard !isClosed else { return }
        let deadline = unsafe min(reader.deadline, writer.deadline, resetCheck)
        if deadline == .max { loop.suspend(self) } else { loop.schedule(self, at: deadline) }
    }

    // MARK: - The end of the connection

    /// Schedules a check for a reset, after a read that emptied the kernel's buffer.
    ///
    /// The kernel may report a reset together with bytes. libevent then reports the socket as readable and
    /// writable, like any socket with bytes, and no further report follows. The check only moves a deadline,
    /// and costs nothing if the next bytes arrive sooner.
    @inline(__always)
    final func checkForResetLater() {
        unsafe resetCheck = loop.now &+ NonblockingSocket.resetCheckDelay
        updateTimer()
    }

    private static let resetCheckDelay: UInt64 = 50_000_000

    final func checkForReset() {
        guard !isPeerClosed, descriptor.isBroken else { return }
        unsafe readiness.peerClosed()
        resumeReader()
        reportPeerClosed()
    }

    final func reportPeerClosed() {
        if let callback = onPeerClosed.take() { callback() }
    }

    /// Makes the kernel end the connection if sent data is not acknowledged.
    ///
    /// This is only for messages that fit into any peer's buffers.
    final func limitSilence() {
        guard !peer.isUnix else { return }
        descriptor.limitSilence(milliseconds: Int32(PeerLiveness.patience / 1_000_000))
    }

    /// Whether sent data has been unacknowledged for longer than on any healthy path.
    package final var isPeerSilent: Bool {
        guard let data = descriptor.flight else { return false }
        return data.isUnanswered && data.silence >= 1_000_000_000
    }
}

extension NonblockingSocket {
    /// Waits on a socket that has no other user yet, and aborts it if the task is canceled.
    ///
    /// - Parameter wait: the wait; it ends with `.aborted` if the socket is aborted.
    /// - Returns: the result of `wait`.
    package func abortingWhenCancelled<Value>(_ wait: () async -> Value) async -> Value {
        let watch = LoopBound(CancellationWatch(self), on: loop)
        // When the loop receives the cancellation, the socket may have another user.
        defer { watch.value.socket = nil }
        return await withTaskCancellationHandler(operation: wait) {
            watch.loop.submit { watch.value.socket?.abort() }
        }
    }
}

/// The socket to abort if its task is canceled while it waits.
private final class CancellationWatch {
    var socket: NonblockingSocket?

    init(_ socket: NonblockingSocket) {
        self.socket = socket
    }
}
