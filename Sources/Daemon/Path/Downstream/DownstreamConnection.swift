import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTP2
package import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// Sends an interim (1xx) response to the app.
package typealias InterimWriter = @Sendable (HTTPStatus, HTTPHeaders) async throws -> Void

/// One connection from an app: reads its requests one after another; `ResponseWriter` answers them.
///
/// One task runs it on its loop while there is something to do; an idle connection has none.
/// `DownstreamState` decides what may happen when. Not `Sendable`.
package final class DownstreamConnection {
    // What every request looks at comes first, in few cache lines. Variables that every request reads are
    // not visible to other modules: only so does the compiler prove that no access to them overlaps
    // another, which costs 63 instructions for each access otherwise.
    package let socket: StreamSocket
    let loop: EventLoop
    let buffer = ReadBuffer()
    private(set) var state: DownstreamState
    /// The request that is being read or answered.
    var request = CurrentRequest()
    /// Reads requests; `nil` while the connection is parked.
    private(set) var reader: RequestReader?
    /// Who reads the content of the request.
    var upload = UploadReader()
    /// What runs the connection; `nil` while it is parked.
    private(set) var service: Service?
    package let peer: SocketPeer
    /// The listener over which it came.
    private(set) var listener: Source
    /// A response that waits for the app to read: rare, so kept in its own object.
    var pendingResponse: PendingResponse?
    /// Those that wait for the end of an interim response.
    private var interimWaiters: [CheckedContinuation<Void, Never>] = []
    let bounds: Bounds
    /// Whether the app has begun with the preface of HTTP/2.
    package private(set) var speaksHTTP2 = false
    /// What serves it since.
    package var session: (any StreamSession)?
    private let life = LiveObject(DownstreamConnection.self)

    /// What one request may be, for all connections that began under one configuration.
    package final class Bounds: Sendable {
        let limits: HTTP1Limits
        let headTimeout: Duration
        /// The slowest pace of a request's content, in bytes a second; `nil` where any pace will do.
        let bodyRate: Int?
        /// How long a task waits for the next request before the connection is parked; `nil` if it is
        /// never parked.
        let parkDelay: Duration?
        /// How long an app may keep the connection open without a request.
        let keepAlive: UInt64
        /// What a connection in HTTP/2 may ask for; `nil` where only HTTP/1 is spoken.
        let http2: HTTP2Limits?

        package init(
            limits: HTTP1Limits,
            headTimeout: Duration,
            bodyRate: Int?,
            parkDelay: Duration? = nil,
            keepAlive: UInt64 = DownstreamState.keepAlive,
            http2: HTTP2Limits? = nil
        ) {
            self.limits = limits
            self.headTimeout = headTimeout
            self.bodyRate = bodyRate
            self.parkDelay = parkDelay
            self.keepAlive = keepAlive
            self.http2 = http2
        }
    }

    /// The listener of a connection; a reload may give it to another channel.
    package struct Source {
        let number: Int?
        /// The listener's own channel, if it has one.
        fileprivate(set) var channel: String?

        package init(number: Int? = nil, channel: String? = nil) {
            (self.number, self.channel) = (number, channel)
        }
    }

    /// The task that serves a connection.
    package final class Service {
        let task: Task<Void, Never>
        /// What the task waits on elsewhere.
        let relay: AbortRelay
        /// Forwards interim responses to the app.
        var interim: InterimWriter?
        private let life = LiveObject(Service.self)

        package init(task: Task<Void, Never>, relay: AbortRelay, interim: InterimWriter? = nil) {
            self.task = task
            self.relay = relay
            self.interim = interim
        }
    }

    /// What is known of the request that is being served.
    struct CurrentRequest {
        /// Numbers the requests, so that the body of an earlier one is not mistaken for this one's.
        var number = 0
        /// How much of its content was read.
        var bytesIn = 0
        /// Whether the app waits for `100 Continue` before it sends the content.
        var owesContinue = false
        /// Whether the app reads trailer fields.
        var takesTrailers = false
        /// Whether responses name this proxy in `Via`.
        var announcesProxy = true
        /// How long nothing may move between the app and netproxy; a channel may set another limit.
        var idleTimeout: Duration? = CurrentRequest.idleTimeout
        /// Whether that is the channel's `timeouts.idle`.
        var hasChannelLimits = false

        /// The limit where no channel sets one.
        static let idleTimeout = Duration.seconds(60)

        /// Takes over what the channel of the request says.
        mutating func enter(idleTimeout: Duration?, announcesProxy: Bool) {
            self.idleTimeout = idleTimeout
            self.announcesProxy = announcesProxy
            hasChannelLimits = true
        }

        /// What errors call the limit.
        var idleSetting: TimeSetting {
            TimeSetting(
                hasChannelLimits ? "timeouts.idle" : "its own limit for requests without a channel",
                idleTimeout
            )
        }
    }

    package init(_ socket: StreamSocket, bounds: Bounds, listener: Source = Source()) {
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

    // MARK: - What serves it

    /// Has a task run the connection, or no task any more.
    package func run(by service: Service?) { self.service = service }

    /// The number of the listener over which it came.
    package var listenerNumber: Int? { listener.number }

    /// Gives the connection to another channel, or to all of them.
    package func give(to channel: String?) { listener.channel = channel }

    /// Whether it has no task, or is about to have none.
    package var isParked: Bool { state.isParked }

    /// Whether it is parked, and has served a request.
    package var isResting: Bool { state.phase == .resting }

    /// Until when it may stay open without a request.
    package var idleDeadline: UInt64 { state.idleDeadline }

    /// Lets the app take any time to read the response.
    package func liftIdleTimeout() { request.idleTimeout = nil }

    // MARK: - Reading a head

    /// Reads the head of the next request into the reader.
    ///
    /// - Returns: `false` when the app is done, or the connection parked.
    /// - Throws: `HTTP1Error` for a malformed head, `IOError.timedOut` for one that takes too long.
    package func nextHead() async throws -> Bool {
        // The last response may still be on its way, under its own timeout.
        request = CurrentRequest(number: request.number + 1, idleTimeout: request.idleTimeout)
        while buffer.isEmpty {
            buffer.release(to: loop.slabs)
            guard let deadline = awaitRequest() else { return false }
            do throws(IOError) {
                try await socket.waitReadable(until: deadline, into: buffer)
                break
            } catch {
                if error == .timedOut, state.requestWaitTimedOut(at: deadline) { reader = nil }
                // A drain ends the wait, but not every connection that waits.
                guard error == .aborted, state.shutdown == .draining, !socket.isAborted else {
                    return false
                }
            }
        }
        state.beginReceiving()
        while true {
            if try decodeHead() { return true }
            guard !speaksHTTP2 else { return false }
            // The empty line that some apps send after their content begins no request.
            let hasBegun = reader?.decoder.hasBegun ?? !buffer.isEmpty
            do throws(IOError) {
                if let count = try socket.readNow(into: buffer) {
                    // A peer that goes away in the middle of a head waits for no answer.
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

    /// The head that was read, until its exchange begins.
    package var head: RequestHead? { reader?.head }

    /// Takes the head that was read, or what stands for one that was refused.
    func takeHead() -> RequestHead { reader?.head.take() ?? unreadHead }

    /// Stands for a head that was refused, or did not arrive in time: its bytes are still here.
    package var unreadHead: RequestHead { buffer.withSpan { RequestHead.unreadable($0) } }

    /// The request line of a head that was refused, or did not arrive in time; `nil` where it cannot be
    /// read.
    var requestLine: RequestHead? {
        buffer.withSpan { bytes in reader?.decoder.requestLine(of: bytes) }
    }

    /// Whether every byte of the request was read, so that another may follow.
    var isRequestComplete: Bool { reader?.body?.isComplete ?? true }

    /// Until when to wait for a request; `nil` where there is none to wait for, or none with a task.
    private func awaitRequest() -> UInt64? {
        // A new connection counts as readable until it was looked at.
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

    // Never inlined: what it holds takes no room in the frame that waits with a request.
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
        // Its memory is still in the processor's caches, and the next read takes it from there.
        buffer.release(to: loop.slabs)
        return true
    }

    /// Whether the first bytes are the preface of HTTP/2 (RFC 9113 §3.4), or may become it (`false`); `nil`
    /// where they are something else.
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
        let reader = RequestReader(limits: bounds.limits, bodyRate: bounds.bodyRate)
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
    /// - Returns: whether another request may follow it, as far as the connection is concerned.
    func beginResponse(_ persistence: Persistence) -> Bool {
        state.beginResponse(isRequestComplete ? persistence : .close)
        // An upload that goes on must not ask for its content any more.
        request.owesContinue = false
        return state.persists
    }

    /// Writes bytes, and a piece of content after them.
    ///
    /// - Throws: `NetworkError` on the app's side.
    func send(_ output: OutputBuffer, _ content: ByteSlice? = nil) async throws(NetworkError) {
        var content = content
        do throws(IOError) {
            guard let sent = try socket.writeNow(output, &content) else { return }
            try await socket.write(output, content, from: sent, idle: request.idleTimeout)
        } catch {
            throw fault(error)
        }
    }

    /// Goes on with bytes and content that were begun.
    ///
    /// - Throws: `NetworkError` on the app's side.
    func send(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        from sent: Int
    ) async throws(NetworkError) {
        do throws(IOError) {
            try await socket.write(output, content, from: sent, idle: request.idleTimeout)
        } catch {
            throw fault(error)
        }
    }

    /// What a failed write says about the app.
    func fault(_ error: IOError) -> NetworkError {
        error == .timedOut
            ? NetworkError.timeout(.delivery, after: request.idleSetting)
            : .clientGone
    }

    // MARK: - Interim responses

    /// Returns when no interim response is being written.
    func interimWritten() async {
        // The first to go on may write the next one.
        while state.phase == .interim {
            await withCheckedContinuation { interimWaiters.append($0) }
        }
    }

    /// Writes an interim response before the final one, unless that has begun.
    ///
    /// The upload's `100 Continue` and the origin's own interim responses come from different tasks:
    /// each waits for the other.
    ///
    /// - Throws: `NetworkError` on the app's side, `CancellationError`.
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

    /// Until when it may stay as it is, if it can be spared where there are too many; `nil` if it cannot.
    package var deadlineToSpare: UInt64? {
        guard let session else { return state.deadlineToSpare(now: loop.now) }
        return session.deadlineToSpare
    }

    /// A new connection begins parked: its first request must be complete as soon as any other's head,
    /// counted from now.
    package func beginParked() {
        state.beginParked(timeout: bounds.headTimeout.nanoseconds, now: loop.now)
    }

    /// The connection has something to do again.
    ///
    /// - Returns: whether it was resting.
    package func wake() -> Bool { state.wake() }

    /// Ends the connection after its exchange, or after a request that is about to come.
    package func drain() {
        if let session { return session.drain() }
        let timeout = bounds.headTimeout.nanoseconds
        perform(state.drain(now: loop.now, firstRequestWithin: timeout))
    }

    /// Ends the connection now, in the middle of what it does; an app whose response has not begun is
    /// told why.
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

    /// Closes so that the app can still read what was written: a close with unread bytes would reset
    /// the connection, and might take the response with it.
    ///
    /// Many apps send all of their content before they read, so that what still comes is read until
    /// the app is silent for a second, however long it is.
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
                // A fast app would keep the loop from its other connections.
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

    /// Ends the connection so that no app takes what it got for a complete response.
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

/// What serves a connection in which requests share the way.
package protocol StreamSession: AnyObject {
    /// Until when it may stay as it is, if it can be spared; `nil` while it has an exchange.
    var deadlineToSpare: UInt64? { get }

    /// Ends the connection after its exchanges, and after requests that are on their way.
    func drain()

    /// Ends the connection now; apps whose response has not begun are told why.
    func cut()
}

extension DownstreamConnection.Bounds {
    /// The error for content that arrives too slowly.
    var slowBody: NetworkError {
        let pace = "the content of the request came slower than \(bodyRate ?? 0)B a second"
        return NetworkError.timeout(.requestBodyRate, after: TimeSetting(pace, nil))
    }
}

extension NetworkError {
    /// The app is gone, and has not had all of the response.
    static var clientGone: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            detail: "the client disconnected before the response was complete"
        )
    }

    /// The app is gone, and has not sent all of the request.
    static var uploadCut: NetworkError {
        NetworkError(
            .cancelled,
            side: .downstream,
            detail: "client disconnected while sending the request body"
        )
    }
}
