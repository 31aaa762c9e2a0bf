import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// One connection to an origin, and the one exchange that is on it.
///
/// Not `Sendable`: it never leaves its loop. Any doubt about framing closes it.
final class UpstreamConnection: TimerEntry {
    let socket: StreamSocket
    let loop: EventLoop
    let address: String
    /// Held until the connection closes: a body may outlive everybody else's interest in the pool.
    let pool: OriginPool
    let buffer = ReadBuffer()
    var body: BodyDecoder?
    var isUploading = false
    var uploadFault: (any Error)?
    /// Larger than for requests: cookies and policies make the heads of real answers long.
    static let limits = {
        var limits = HTTP1Limits()
        limits.sectionSize = 64 * 1024
        limits.fieldCount = 256
        return limits
    }()

    /// The longest content that is copied out of the buffer, in bytes.
    private static let copiedLength = 1024

    /// The exchange that is on the connection, so that a body of an earlier one is not mistaken.
    private(set) var exchange = 0
    private var decoder = ResponseHeadDecoder(limits: UpstreamConnection.limits)
    private var isIdle = false
    private var mayReuse = true
    /// Whether it is being watched, before it may become idle.
    private var isWatched = false

    init(_ socket: StreamSocket, pool: OriginPool) {
        self.socket = socket
        self.pool = pool
        loop = socket.loop
        address = socket.peer.description
        super.init()
        socket.onPeerClosed = { [unowned self] in
            if isIdle { close() }
        }
    }

    // MARK: - In the pool

    /// Whether nothing of the last exchange is left on it.
    func canIdle() -> Bool {
        guard mayReuse, buffer.isEmpty, !isUploading, !socket.isClosed, !socket.hasPosted
        else { return false }
        socket.probe()
        return socket.isQuiet
    }

    func enterIdle(until deadline: UInt64) {
        isIdle = true
        buffer.release(to: loop.slabs)
        loop.schedule(self, at: deadline)
    }

    /// Whether it is as quiet as when it became idle.
    func resumeFromIdle() -> Bool {
        isIdle = false
        loop.suspend(self)
        if !socket.isQuiet { socket.probe() }
        return socket.isQuiet
    }

    /// Stays unused for a while, until it is clear that the origin sends nothing behind its answer.
    func enterWatch(until deadline: UInt64) {
        isWatched = true
        enterIdle(until: deadline)
    }

    /// Idle for too long, or watched for long enough.
    override func fire() {
        guard isWatched else {
            if isIdle { close() }
            return
        }
        (isWatched, isIdle) = (false, false)
        pool.release(self)
    }

    /// Closes it, whatever it was doing.
    func close() {
        guard !socket.isClosed else { return }
        isIdle = false
        loop.remove(self)
        // A request that nobody waits for any more is better not sent.
        socket.dropPosted()
        socket.close()
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        pool.closed(self)
    }

    // MARK: - One exchange

    /// Sends the request and returns when the head of the final response is there.
    ///
    /// - Parameters:
    ///   - request: one whose body does not stream, where there is a limit.
    ///   - context: gets what is learnt.
    ///   - limit: when it must be over, on the loop's clock; it ends the waits, not a body's source.
    /// - Returns: the response, whose body may still be arriving.
    /// - Throws: `http_response_timeout` past the limit, else what the fault is.
    func send(
        _ request: Request,
        context: inout RequestContext,
        until limit: UInt64 = .max
    ) async throws -> Response {
        exchange += 1
        body = nil
        let started = loop.now
        do {
            guard limit > started else { throw NetworkError.overdue }
            if let rest = try start(request) { try await send(rest, until: limit) }
            let head: ResponseHead
            if case .stream(let source, let length) = request.body {
                head = try await upload(
                    source,
                    length: length,
                    of: request,
                    context: &context
                )
            } else {
                head = try await readHead(
                    answering: request,
                    context: &context,
                    until: min(loop.deadline(after: pool.options.responseTimeout), limit),
                    gate: nil
                )
            }
            context.timings.firstByte = Duration(elapsed: loop.now - started)
            return try response(head)
        } catch {
            close()
            throw limit <= loop.now ? NetworkError.overdue : error
        }
    }

    /// What the kernel did not take at once.
    private struct Unsent {
        let output: OutputBuffer
        let whole: ByteSlice?
        let offset: Int
    }

    /// Writes the head, and the content if it is here; nothing is left if the kernel takes it at once.
    private func start(_ request: borrowing Request) throws -> Unsent? {
        let framing: BodyFraming
        var whole: ByteSlice?
        switch request.body {
        case .empty, .tunnel: framing = .none
        case .bytes(let bytes):
            framing = .length(bytes.count)
            whole = bytes
        case .stream(_, let length): framing = length.map { .length($0) } ?? .chunked
        }
        let output = loop.outputs.take()
        HeadEncoder.encodeRequest(
            method: request.method,
            target: pool.targetPrefix.isEmpty ? request.target : target(forProxy: request.target),
            host: request.origin.authority,
            headers: request.headers,
            framing: framing,
            hopFields: HopFields.of(request.headers),
            into: output
        )
        do throws(IOError) {
            let deadline = loop.deadline(after: pool.options.idleTimeout)
            if request.body.isReplayable, try socket.post(output, whole, until: deadline) {
                return nil
            }
            if let offset = try socket.writeNow(output, &whole) {
                return Unsent(output: output, whole: whole, offset: offset)
            }
        } catch {
            loop.outputs.give(output)
            try forgive(error)
            return nil
        }
        loop.outputs.give(output)
        return nil
    }

    private func send(_ rest: Unsent, until limit: UInt64) async throws {
        defer { loop.outputs.give(rest.output) }
        let deadline = min(loop.deadline(after: pool.options.idleTimeout), limit)
        do throws(IOError) {
            try await abortable { [socket] in
                await socket.settleWritten(
                    rest.output,
                    rest.whole,
                    from: rest.offset,
                    until: deadline
                )
            }
        } catch {
            try forgive(error)
        }
    }

    /// Lets a close pass while the request is sent: the origin may have answered before it closed, so
    /// the head is looked for all the same.
    private func forgive(_ error: IOError) throws {
        guard error == .closedByPeer else { throw fault(error, in: .sending) }
        mayReuse = false
    }

    /// The target in absolute-form, for the proxy on the way (RFC 9112 §3.2.2).
    private func target(forProxy target: String) -> String {
        target == "*" ? pool.targetPrefix : pool.targetPrefix + target
    }

    /// Waits for the final head while a task of its own sends the content.
    private func upload(
        _ source: any BodySource,
        length: Int?,
        of request: Request,
        context: inout RequestContext
    ) async throws -> ResponseHead {
        let bound = LoopBound(self, on: loop)
        let gate = UploadGate(isOpen: !request.headers.contains(HTTPFieldName.expect))
        let openGate = LoopBound(gate, on: loop)
        isUploading = true
        uploadFault = nil
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // A task of its own: the origin may answer before it has read the whole body.
            group.addTask {
                await openGate.value.wait(on: bound.loop)
                await bound.value.upload(source, length: length)
            }
            defer {
                if isUploading {
                    isUploading = false
                    mayReuse = false
                    source.cancel()
                }
                group.cancelAll()
            }
            do {
                let head = try await readHead(
                    answering: request,
                    context: &context,
                    until: .max,
                    gate: gate
                )
                gate.close()
                return head
            } catch {
                gate.close()
                throw uploadFault ?? error
            }
        }
    }

    /// Reads heads until the final one; interim answers go to whoever wants them.
    private func readHead(
        answering request: Request,
        context: inout RequestContext,
        until fixed: UInt64,
        gate: UploadGate?
    ) async throws -> ResponseHead {
        var interim = 0
        while true {
            guard let head = try decodeHead(answering: request.method) else {
                if let gate {
                    try await readMore(gate: gate)
                } else if try !readAtOnce() {
                    do throws(IOError) {
                        try await waitReadable(until: fixed, into: buffer)
                    } catch {
                        throw headFault(error, isUntouched: buffer.isEmpty)
                    }
                }
                continue
            }
            let isSwitch =
                head.status == 101
                && HopFields.agreed(head.headers, offered: request.headers) != nil
            guard head.status.kind == .informational, !isSwitch else {
                context.upstreamStatus = head.status
                context.speaksHTTP10 = head.version == .http10
                return head
            }
            interim += 1
            guard interim <= UpstreamConnection.limits.informationalCount, head.status != 101
            else {
                throw NetworkError(
                    .httpProtocolError,
                    side: .upstream,
                    detail: "\(pool.origin.authority) sent interim answers that nobody asked for"
                )
            }
            if head.status == 100 {
                gate?.open()
            } else if let forward = context.onInformational {
                var headers = head.headers
                _ = HopByHop(removingFrom: &headers)
                try await forward(head.status, headers)
            }
        }
    }

    private func decodeHead(answering method: HTTPMethod) throws -> ResponseHead? {
        guard !buffer.isEmpty else { return nil }
        do throws(HTTP1Error) {
            let decoded = try buffer.withSpan { bytes throws(HTTP1Error) in
                try decoder.decode(bytes, answering: method)
            }
            guard let decoded else { return nil }
            buffer.consume(decoded.consumed)
            return decoded.head
        } catch {
            throw FaultTable.error(error, from: pool.origin.authority)
        }
    }

    /// Reads what is there of the head; false if nothing is.
    private func readAtOnce() throws -> Bool {
        do throws(IOError) {
            guard let count = try socket.readNow(into: buffer) else { return false }
            guard count > 0 else { throw .closedByPeer }
            return true
        } catch {
            throw headFault(error, isUntouched: buffer.isEmpty)
        }
    }

    /// Reads what comes next of the head while the body is on its way.
    ///
    /// The wait goes in steps of a second: the deadline of the answer begins when the upload has
    /// ended, which may be in the middle of a step.
    private func readMore(gate: UploadGate) async throws {
        let hadBytes = !buffer.isEmpty
        while true {
            let isStep = isUploading
            let deadline =
                isStep
                ? loop.deadline(after: .seconds(1))
                : gate.answerDeadline(loop.deadline(after: pool.options.responseTimeout))
            do throws(IOError) {
                guard try await read(until: deadline) == 0 else { return }
                throw .closedByPeer
            } catch {
                if error == .timedOut, isStep {
                    // An origin that never answers the expectation gets the body after a second.
                    gate.open()
                    continue
                }
                throw headFault(error, isUntouched: !hadBytes)
            }
        }
    }

    private func headFault(_ error: IOError, isUntouched: Bool) -> NetworkError {
        FaultTable.error(
            error,
            in: .awaitingHead,
            to: pool.origin.authority,
            isReused: exchange > 1,
            isUntouched: isUntouched
        )
    }

    /// Reads into the buffer; a cancelled task ends the wait.
    func read(minimum: Int = 4096, until deadline: UInt64) async throws(IOError) -> Int {
        while true {
            if let count = try socket.readNow(into: buffer, minimum: minimum) { return count }
            try await waitReadable(until: deadline)
        }
    }

    /// Waits for something to read; a cancelled task ends the wait.
    private func waitReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async throws(IOError) {
        if let relay = AbortRelay.current, relay.loop === loop, relay.value.isFree {
            try relay.value.hold(socket)
            defer { relay.value.release() }
            return try await socket.waitReadable(until: deadline, into: buffer)
        }
        try await abortable { [socket] in
            await socket.settleReadable(until: deadline, into: buffer)
        }
    }

    /// A wait on the socket that ends when the task is cancelled.
    private func abortable(_ wait: () async -> IOError?) async throws(IOError) {
        let (bound, exchange) = (LoopBound(self, on: loop), exchange)
        let failure = await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            // By then the connection may be somebody else's.
            bound.loop.submit {
                if bound.value.exchange == exchange { bound.value.socket.abort() }
            }
        }
        if let failure { throw failure }
    }

    private func response(_ head: consuming ResponseHead) throws -> Response {
        if !head.keepAlive { mayReuse = false }
        // Moved, not copied: it is edited in place.
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        let upgrade = head.status == 101 ? headers[.upgrade] : nil
        let isDoubtful =
            head.framing == .none
            && ((head.announcedLength ?? 0) > 0 || headers.contains(KnownField.transferEncoding))
        _ = HopByHop(removingFrom: &headers)
        if let upgrade {
            headers.append(.upgrade, validated: upgrade)
            return Response(status: 101, headers: headers, body: .tunnel(tunnel()))
        }
        var response = Response(
            status: head.status,
            headers: headers,
            announcedLength: head.announcedLength
        )
        switch head.framing {
        case .none where isDoubtful:
            // HEAD or 304: a confused origin sends the content all the same, and soon.
            pool.releaseAfterSilence(self)
        case .none, .length(0):
            finish()
        case .length(let length) where length <= buffer.count:
            // Copied where that is cheap: the connection keeps its slab, and whoever keeps the
            // content keeps no more than that.
            response.body = .bytes(
                length <= UpstreamConnection.copiedLength
                    ? buffer.copy(length) : buffer.take(length)
            )
            finish()
        case .length(let length):
            body = BodyDecoder(head.framing, limits: UpstreamConnection.limits)
            response.body = .stream(source, length: length)
        case .chunked, .untilClose:
            if head.framing == .untilClose { mayReuse = false }
            body = BodyDecoder(head.framing, limits: UpstreamConnection.limits)
            response.body = .stream(source, length: nil)
        }
        return response
    }

    /// Leaves HTTP: the connection is the tunnel's, and keeps its place in the pool until it closes.
    private func tunnel() -> SocketStream {
        mayReuse = false
        let early = buffer.moved()
        return SocketStream(
            socket,
            buffer: early,
            side: .upstream,
            idleTimeout: pool.options.idleTimeout,
            onClose: { [self] in close() }
        )
    }

    private var source: UpstreamBody {
        UpstreamBody(LoopBound(self, on: loop), exchange: exchange)
    }

    /// The exchange is complete.
    func finish() {
        body = nil
        pool.release(self)
    }

    /// Whoever reads the body does not want the rest.
    func cancelBody(of exchange: Int) {
        guard exchange == self.exchange, body != nil else { return }
        body = nil
        close()
    }

    func fault(_ error: IOError, in phase: FaultTable.Phase) -> NetworkError {
        FaultTable.error(
            error,
            in: phase,
            to: pool.origin.authority,
            isReused: exchange > 1,
            isUntouched: phase == .sending
        )
    }
}
