import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore

/// One exchange on a connection in HTTP/2: what has come of its answer, and who waits for it.
///
/// Not `Sendable`: it never leaves its loop.
final class HTTP2Exchange: LoopWaiter, Abortable {
    /// Why there is no more to come of the answer.
    enum Failure {
        /// The origin ended the stream.
        case reset(HTTP2Code)
        /// The origin has not looked at the request, and says so.
        case refused
        /// The answer breaks the rules.
        case malformed(HTTP2Fault)
        /// The connection ended.
        case connection(HTTP2WireEnd)
    }

    let id: Int32
    let connection: HTTP2Connection
    /// Heads that were not looked at yet, the final one last; mostly there is one, and one piece.
    private var head: ResponseHead?
    private var moreHeads: [ResponseHead] = []
    private var piece: ByteSlice?
    private var morePieces: [ByteSlice] = []
    /// What follows these: short pieces, put together as they come.
    private var gathered: SlabWriter?
    /// How much content is still to be sent, where its head says so.
    var announced: Int?
    /// Whether the whole answer is here.
    private(set) var isEnded = false
    private(set) var trailers: HTTPHeaders?
    private(set) var failure: Failure?
    /// Whether a head has come, final or interim.
    private(set) var hasAnswered = false
    /// Whether the stream is closed: nothing comes or goes on it.
    private(set) var isClosed = false
    var upload: Upload?
    /// When the content must be complete, on the loop's clock, and what set that.
    var bodyLimit = UInt64.max
    var bodySetting: TimeSetting?
    /// Bytes that came since the window last grew.
    private var sinceGrowth = 0
    private var window: Int
    private var writer: CheckedContinuation<Void, Never>?
    private var isAborted = false
    private var isOverdue = false
    private var isWriteCancelled = false
    private var unsent = 0
    /// Whether some of it has been sent since the wait for that began.
    private var hasProgress = false
    /// Whether events have come since the reader was last resumed.
    private var hasNews = false
    private let life = LiveObject(HTTP2Exchange.self)

    var loop: EventLoop { connection.loop }

    init(_ id: Int32, on connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
        window = connection.window
        super.init()
    }

    // MARK: - What the connection reports

    func took(_ head: ResponseHead, ends: Bool) {
        hasAnswered = true
        if self.head == nil { self.head = head } else { moreHeads.append(head) }
        if ends { isEnded = true }
        hasNews = true
    }

    /// Takes content, the first piece as it is.
    ///
    /// Frames are short, each piece costs who takes it a system call, and one that is kept takes the buffer
    /// that it was read into away from the reader: what comes before the first was taken is put together.
    func took(_ content: ByteSlice) {
        hasNews = true
        guard piece != nil else {
            piece = content
            return
        }
        if var writer = gathered.take() {
            guard writer.count + content.count > HTTP2Exchange.gatheredLength else {
                writer.append(content.span)
                gathered = consume writer
                return
            }
            morePieces.append(writer.finish())
        }
        let isLong = content.count > HTTP2Exchange.gatheredLength / 16
        var writer = SlabWriter(expecting: isLong ? HTTP2Exchange.gatheredLength : 0)
        writer.append(content.span)
        gathered = consume writer
    }

    /// How much is put together at most, in bytes.
    private static let gatheredLength = 64 * 1024

    /// Moves on to the content after the first piece.
    private func nextPiece() {
        if !morePieces.isEmpty {
            piece = morePieces.removeFirst()
        } else {
            piece = gathered.take()?.finish()
        }
    }

    func end(_ trailers: HTTPHeaders?) {
        self.trailers = trailers
        isEnded = true
        hasNews = true
    }

    func fail(_ failure: Failure) {
        // An answer that is whole stays so.
        if !isEnded, self.failure == nil { self.failure = failure }
        hasNews = true
        resumeWriter()
    }

    func close() {
        isClosed = true
        hasNews = true
        resumeWriter()
    }

    func sent(_ count: Int) {
        unsent -= count
        hasProgress = true
        resumeWriter()
    }

    /// All that has come is here.
    func resumeIfNews() {
        guard hasNews else { return }
        hasNews = false
        resume()
    }

    // MARK: - Waiting

    private func resumeWriter() { writer.take()?.resume() }

    func abort() {
        isAborted = true
        resume()
        resumeWriter()
    }

    override func fire() {
        isOverdue = true
        resume()
    }

    /// Whether there is something to take, or nothing to wait for.
    private var isReady: Bool {
        head != nil || piece != nil || isEnded || failure != nil || isAborted
    }

    /// Returns when more of the answer is here.
    ///
    /// - Throws: `.timedOut`, `.aborted`.
    func wait(until deadline: UInt64) async throws(IOError) {
        guard !isReady else {
            if isAborted { throw .aborted }
            return
        }
        if connection.peer.service == .connections, let relay = AbortRelay.current?.relay,
            relay.loop === loop
        {
            let relay = relay.value
            if relay.isFree {
                try relay.hold(sharing: self)
                defer { relay.releaseShared() }
                return try await waitForNews(until: deadline)
            }
        }
        let bound = LoopBound(self, on: loop)
        let fault = await withTaskCancellationHandler {
            await IOError.thrown { () async throws(IOError) in
                try await waitForNews(until: deadline)
            }
        } onCancel: {
            bound.loop.submit { bound.value.abort() }
        }
        if let fault { throw fault }
    }

    private func waitForNews(until deadline: UInt64) async throws(IOError) {
        isOverdue = false
        if deadline < .max { loop.schedule(self, at: deadline) }
        while !isReady, !isOverdue {
            await suspendTask()
        }
        if deadline < .max { loop.suspend(self) }
        if isAborted { throw .aborted }
        if !isReady { throw .timedOut }
    }

    // MARK: - Taking

    func takeHead() -> ResponseHead? {
        defer { head = moreHeads.isEmpty ? nil : moreHeads.removeFirst() }
        return head
    }

    /// Takes content that is here, and lets the origin send as much more.
    func takePiece() -> ByteSlice? {
        guard head == nil, let first = piece else { return nil }
        nextPiece()
        consumed(first.count)
        return first
    }

    /// How much content is here.
    private var available: Int {
        guard let piece else { return 0 }
        let rest = gathered?.count ?? 0
        return morePieces.reduce(piece.count + rest) { $0 + $1.count }
    }

    /// All of the content, if it is here: as one piece.
    func takeWhole() -> ByteSlice? {
        guard isEnded, trailers == nil else { return nil }
        guard let first = piece else { return ByteSlice([]) }
        let count = available
        nextPiece()
        guard piece != nil else {
            // Copied where that is cheap, so that it does not hold what came with it.
            return count <= HTTP2Exchange.copiedLength ? ByteSlice(first.span) : first
        }
        var writer = SlabWriter(expecting: count)
        writer.append(first.span)
        while let next = piece {
            writer.append(next.span)
            nextPiece()
        }
        return writer.finish()
    }

    private static let copiedLength = 1024

    /// The trailers of an answer without content, if they tell the status of a call.
    func takeLoneTrailers() -> HTTPHeaders? {
        guard piece == nil, let trailers, trailers.contains(RPCStatus.field) else { return nil }
        self.trailers = nil
        return trailers
    }

    /// Whether the content that is here is all there is, and short.
    var isWholeAndShort: Bool {
        isEnded && trailers == nil && available <= Slab.standardCapacity
    }

    private func consumed(_ count: Int) {
        guard !isEnded, !isClosed else { return }
        sinceGrowth += count
        connection.consumed(count, on: id)
        // Who has read all of a window before more came could have read faster than the origin may send.
        if piece == nil, sinceGrowth >= window {
            sinceGrowth = 0
            window = connection.growWindow(of: id)
        }
    }

    func dropContent() {
        (piece, morePieces) = (nil, [])
        gathered = nil
    }
}

/// The content of a request that streams.
extension HTTP2Exchange: UploadSink {
    func write(_ piece: ByteSlice?) throws -> Bool {
        guard !isClosed, failure == nil else { throw IOError.closedByPeer }
        guard let piece else {
            try connection.endContent(on: self)
            return true
        }
        unsent = piece.count
        // It may be sent before the call returns.
        try connection.send(piece, on: self)
        return unsent == 0
    }

    func finishWriting() async throws(IOError) {
        isWriteCancelled = false
        var isOverdue = false
        let timer = ActionTimer { [unowned self] in
            isOverdue = true
            resumeWriter()
        }
        defer { loop.remove(timer) }
        while unsent > 0, !isClosed, failure == nil, !isAborted, !isWriteCancelled, !isOverdue {
            hasProgress = false
            let deadline = loop.deadline(after: connection.peer.options.idleTimeout)
            if deadline < .max { loop.schedule(timer, at: deadline) }
            await withCheckedContinuation { writer = $0 }
            if hasProgress { isOverdue = false }
        }
        if unsent == 0 { return }
        if isOverdue { throw .timedOut }
        throw isAborted || isWriteCancelled ? .aborted : .closedByPeer
    }

    func cancelWrite() {
        isWriteCancelled = true
        resumeWriter()
    }
}
