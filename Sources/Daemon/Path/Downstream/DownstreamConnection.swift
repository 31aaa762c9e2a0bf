import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One connection from a client, which reads requests one after another; `ResponseWriter` writes the
/// responses.
///
/// One task runs the connection on its loop while there is something to do; an idle connection has no
/// task. `DownstreamState` decides which event is allowed when. Not `Sendable`.
package final class DownstreamConnection {
    // The fields read by every request come first, in few cache lines. They are not visible to other
    // modules: this lets the compiler prove that no access overlaps another, which otherwise costs 63
    // instructions for each access.
    package let socket: StreamSocket
    let loop: EventLoop
    let buffer = ReadBuffer()
    private(set) var state: DownstreamState
    /// The current request.
    var request = CurrentRequest()
    /// Reads requests; `nil` while the connection is parked.
    private(set) var reader: RequestReader?
    /// The reader of the request's content.
    var upload = UploadReader()
    /// The task that runs the connection; `nil` while it is parked.
    private(set) var service: DownstreamService?
    package let peer: SocketPeer
    /// The listener that accepted the connection.
    private(set) var listener: ListenerSource
    /// A response that waits for the client to read; rare, so it is stored in its own object.
    var pendingResponse: PendingResponse?
    /// The tasks that wait for the end of an interim response.
    private var interimWaiters: [CheckedContinuation<Void, Never>] = []
    let bounds: DownstreamLimits
    /// Whether the client began with the preface of HTTP/2.
    package private(set) var speaksHTTP2 = false
    /// The session that serves the connection in HTTP/2.
    package var session: (any StreamSession)?
    private let life = LiveObject(DownstreamConnection.self)

    package init(
        _ socket: StreamSocket,
        bounds: DownstreamLimits,
        listener: ListenerSource = ListenerSource()
    ) {
        self.socket = socket
        self.bounds = bounds
        self.listener = listener
        loop = socket.loop
        state = DownstreamState(
            parkDelay: bounds.parkDelay?.nanoseconds,
            keepAlive: bounds.keepAlive
        )
        peer = SocketPeer(
            address: socket.peer.isUnix ? "unix" : socket.peer.description,
            process: socket.peerProcess
        )
    }

    // MARK: - The task

    /// Sets the task that runs the connection; `nil` if there is none any more.
    package func run(by service: DownstreamService?) { self.service = service }

    /// The number of the listener that accepted the connection.
    package var listenerNumber: Int? { listener.number }

    /// Assigns the connection to another channel, or to all of them.
    package func give(to channel: String?) { listener.channel = channel }

    /// Whether the connection has no task, or is about to have none.
    package var isParked: Bool { state.isParked }

    /// Whether the connection is parked and its client has been quiet for some time.
    package var isResting: Bool { state.phase == .resting }

    /// The time until which the connection may stay open without a request.
    package var idleDeadline: UInt64 { state.idleDeadline }

    /// The limits of a message.
    ///
    /// A unix listener of one channel needs no host, and clients write the path of the socket. A web page
    /// cannot reach it, unlike a TCP listener, where the host protects from DNS rebinding.
    var limits: HTTP1Limits {
        var limits = bounds.limits
        if listener.channel != nil, socket.peer.isUnix { limits.hostRule = .optional }
        return limits
    }

    /// Lets the client take any time to read the response.
    package func liftIdleTimeout() { request.idleTimeout = nil }

    // MARK: - Reading a head

    /// Reads the head of the next request into the reader.
    ///
    /// - Returns: `false` if the client is done or the connection is parked.
    /// - Throws: `HTTP1Error` for a malformed head, `IOError.timedOut` for one that takes too long.
    package func nextHead() async throws -> Bool {
        // The last response may still be in transit, under its own timeout.
        request = CurrentRequest(number: request.number + 1, idleTimeout: request.idleTimeout)
        while buffer.isEmpty {
            buffer.release(to: loop.slabs)
            guard let deadline = awaitRequest() else { return false }
            do throws(IOError) {
                try await socket.waitReadable(until: deadline, into: buffer)
                break
            } catch {
                if error == .timedOut, state.requestWaitTimedOut(at: deadline) { reader = nil }
                // A drain interrupts the wait, but does not end every waiting connection.
                guard error == .aborted, state.shutdown == .draining, !socket.isAborted else {
                    return false
                }
            }
        }
        state.beginReceiving()
        while true {
            if try decodeHead() { return true }
            guard !speaksHTTP2 else { return false }
            // The empty line that some clients send after their content does not begin a request.
            let hasBegun = reader?.decoder.hasBegun ?? !buffer.isEmpty
            do throws(IOError) {
                if let count = try socket.readNow(into: buffer) {
                    // A peer that leaves in the middle of a head does not wait for a response.
                    guard count > 0 else { return false }
                    continue
                }
                let deadline =
                    hasBegun
                    ? state.awaitHeadEnd(timeout: bounds.headTimeout.nanoseconds, now: loop.now)
                    : state.awaitHead(now: loop.now)
                guard let deadline else { return false }
                try await socket.waitReadable(until: deadline, into: buffer)
                state.resumeReceiving()
            } catch {
                if error == .aborted, state.shutdown == .draining, !socket.isAborted {
                    _ = socket.hasArrived()
                    continue
                }
                guard error == .timedOut, hasBegun else { return false }
                throw error
            }
        }
    }

    /// The decoded head, until its exchange begins.
    package var head: RequestHead? { reader?.head }

    /// Takes the decoded head, or a substitute for a refused one.
    func takeHead() -> RequestHead { reader?.head.take() ?? unreadHead }

    /// A substitute for a head that was refused or incomplete; its bytes are still in the buffer.
    package var unreadHead: RequestHead { buffer.withSpan { RequestHead.unreadable($0) } }

    /// The request line of a head that was refused or incomplete; `nil` if it cannot be read.
    var requestLine: RequestHead? {
        buffer.withSpan { bytes in reader?.decoder.requestLine(of: bytes) }
    }

    /// Whether the whole request has been read, so that another may follow.
    var isRequestComplete: Bool { reader?.body?.isComplete ?? true }

    /// Returns the deadline for the next request; `nil` if the connection is parked or ends.
    private func awaitRequest() -> UInt64? {
        // A new connection counts as readable until it is probed.
        if state.shutdown != .cut { socket.probe() }
        switch state.awaitRequest(now: loop.now) {
        case .leave: return nil
        case .wait(let deadline): return deadline
        case .takeArrived: return socket.hasArrived() ? loop.now : nil
        case .parkIfQuiet(let deadline):
            guard socket.isQuiet else { return deadline }
            state.park()
            reader = nil
            return nil
        }
    }

    // Never inlined, so that its locals take no room in the frame that waits with a request.
    @inline(never)
    private func decodeHead() throws(HTTP1Error) -> Bool {
        guard !buffer.isEmpty else { return false }
        if state.isUnused, bounds.http2 != nil, let isPreface = preface {
            speaksHTTP2 = isPreface
            return false
        }
        let reader = reader ?? makeReader()
        let length = try buffer.withSpan { bytes throws(HTTP1Error) in
            guard let (head, length) = try reader.decoder.decode(bytes) else { return nil as Int? }
            begin(head, reader)
            reader.head = consume head
            return length
        }
        guard let length else { return false }
        buffer.consume(length)
        // Release the memory while it is in the processor's caches, so that the next read uses it.
        buffer.release(to: loop.slabs)
        return true
    }

    /// Whether the first bytes are the preface of HTTP/2 (RFC 9113 §3.4) or only its beginning (`false`);
    /// `nil` if they are neither.
    private var preface: Bool? {
        buffer.withSpan { bytes in
            let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            let count = min(bytes.count, preface.utf8CodeUnitCount)
            guard bytes[0] == UInt8(ascii: "P"), bytes.begins(with: preface, first: count) else {
                return nil
            }
            return count == preface.utf8CodeUnitCount
        }
    }

    private func makeReader() -> RequestReader {
        let reader = RequestReader(limits: limits, bodyRate: bounds.bodyRate)
        self.reader = reader
        return reader
    }

    private func begin(_ head: borrowing RequestHead, _ reader: RequestReader) {
        state.requestArrived()
        request.idleTimeout = CurrentRequest.idleTimeout
        request.owesContinue = head.expectsContinue && head.framing != .none
        request.takesTrailers = head.takesTrailers
        reader.beginBody(head.framing, limits: bounds.limits)
    }

    /// The error for a head that did not arrive in time.
    var overdueHead: NetworkError {
        NetworkError.timeout(
            .requestHead,
            after: TimeSetting("limits.head_timeout", bounds.headTimeout)
        )
    }

    // MARK: - Writing

    /// Begins the final response.
    ///
    /// - Returns: whether the connection permits another request after it.
    func beginResponse(_ persistence: Persistence) -> Bool {
        state.beginResponse(isRequestComplete ? persistence : .close)
        // A remaining upload must not request its content any more.
        request.owesContinue = false
        return state.persists
    }

    /// Writes bytes, followed by a piece of content.
    ///
    /// - Throws: `NetworkError` on the downstream side.
    func send(_ output: OutputBuffer, _ content: ByteSlice? = nil) async throws(NetworkError) {
        var content = content
        do throws(IOError) {
            if let sent = try socket.writeNow(output, &content) {
                try await write(output, content, from: sent)
            }
            request.lastSent = loop.now
        } catch {
            throw fault(error)
        }
    }

    private func write(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        from sent: Int
    ) async throws(IOError) {
        try await socket.write(
            output,
            content,
            from: sent,
            idle: request.idleTimeout,
            since: { self.request.lastReceived }
        )
    }

    /// Continues to write bytes and content from position `sent`.
    ///
    /// - Throws: `NetworkError` on the downstream side.
    func send(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        from sent: Int
    ) async throws(NetworkError) {
        do throws(IOError) {
            try await write(output, content, from: sent)
            request.lastSent = loop.now
        } catch {
            throw fault(error)
        }
    }

    /// Returns the error for a failed write to the client.
    func fault(_ error: IOError) -> NetworkError {
        error == .timedOut
            ? NetworkError.timeout(.delivery, after: request.idleSetting)
            : .clientGone
    }

    // MARK: - Interim responses

    /// Returns when no interim response is being written.
    func interimWritten() async {
        // The first resumed task may write the next one.
        while state.phase == .interim {
            await withCheckedContinuation { interimWaiters.append($0) }
        }
    }

    /// Writes an interim response, unless the final one has begun.
    ///
    /// The upload's `100 Continue` and the origin's own interim responses come from different tasks, each
    /// of which waits for the other.
    ///
    /// - Throws: `NetworkError` on the downstream side, `CancellationError`.
    func writeInterim(_ status: HTTPStatus, _ headers: HTTPHeaders = [:]) async throws {
        await interimWritten()
        try Task.checkCancellation()
        guard state.beginInterim() else { return }
        defer {
            state.endInterim()
            let waiters = interimWaiters
            interimWaiters = []
            for waiter in waiters { waiter.resume() }
        }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        HeadEncoder.encodeInformational(status: status, headers: headers, into: output)
        try await send(output)
    }

    // MARK: - The end

    /// The deadline of a connection that can be closed to make room; `nil` if it cannot.
    package var deadlineToSpare: UInt64? {
        guard let session else { return state.deadlineToSpare(now: loop.now) }
        return session.deadlineToSpare
    }

    /// Parks a new connection; its first head must be complete within the usual time, counted from now.
    package func beginParked() {
        state.beginParked(timeout: bounds.headTimeout.nanoseconds, now: loop.now)
    }

    /// Wakes the connection because it has something to do.
    ///
    /// - Returns: whether it was resting.
    package func wake() -> Bool { state.wake() }

    /// Ends the connection after its exchange, or after a request that is about to arrive.
    package func drain() {
        if let session { return session.drain() }
        let timeout = bounds.headTimeout.nanoseconds
        perform(state.drain(now: loop.now, firstRequestWithin: timeout))
    }

    /// Ends the connection now, even during an exchange; a response that has not begun contains the
    /// reason.
    package func cut() {
        if let session { return session.cut() }
        service?.task.cancel()
        service?.relay.abort()
        perform(state.cut())
    }

    private func perform(_ action: DownstreamState.EndAction) {
        switch action {
        case .none: break
        case .cancelRead: socket.cancelRead()
        case .abort: socket.abort()
        }
    }

    /// Closes the connection so that the client can still read the response.
    ///
    /// A close with unread bytes would reset the connection and could discard the response. Many clients
    /// send all of their content before they read, so this reads the remaining content, however long,
    /// until the client is silent for a second.
    package func closeAfterLingering() async {
        await stopUpload()
        await postedResponseSent()
        if !isRequestComplete || !buffer.isEmpty || !socket.isQuiet, !socket.isPeerClosed {
            socket.shutdownWriting()
            let begun = loop.now
            while loop.now &- begun < state.lingerTime {
                buffer.consume(buffer.count)
                let count = try? await socket.read(
                    into: buffer,
                    minimum: Slab.standardCapacity,
                    until: loop.deadline(after: .seconds(1))
                )
                guard let count, count > 0 else { break }
                // A fast client would keep the loop from its other connections.
                await Task.yield()
            }
        }
        close()
    }

    /// Closes the connection once the kernel has the last response.
    package func end() async {
        await postedResponseSent()
        close()
    }

    private func postedResponseSent() async {
        guard socket.hasPosted else { return }
        do throws(IOError) {
            try await socket.finishPosted(until: loop.deadline(after: request.idleTimeout))
        } catch {
            socket.reset()
        }
    }

    /// Ends the connection so that no client takes a partial response for a complete one.
    func reset() {
        socket.reset()
        close()
    }

    func close() {
        state.close()
        service?.interim = nil
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        socket.close()
    }
}

/// A session that serves the concurrent exchanges of a connection.
package protocol StreamSession: AnyObject {
    /// The deadline of a connection that can be closed to make room; `nil` while it has an exchange.
    var deadlineToSpare: UInt64? { get }

    /// Ends the connection after its exchanges, and after requests in transit.
    func drain()

    /// Ends the connection now; a response that has not begun contains the reason.
    func cut()
}

extension NetworkError {
    /// The client disconnected before it received the whole response.
    static var clientGone: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            detail: "the client disconnected before the response was complete"
        )
    }

    /// The client disconnected before it sent the whole request.
    static var uploadCut: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            detail: "client disconnected while sending the request body"
        )
    }
}
