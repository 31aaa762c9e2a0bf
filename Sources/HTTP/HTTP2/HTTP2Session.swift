import CNetproxyNghttp2
package import NetproxyBytes
import NetproxyHTTP1
package import NetproxyHTTPMessage
import NetproxyLiveObjects

/// One HTTP/2 connection (RFC 9113) without I/O: bytes in, events out; messages in, bytes out.
///
/// nghttp2 implements framing and flow control. The rules for messages are those of `HTTP1`: see
/// `FieldBlock`, `FieldLines` and `StreamState`. Not `Sendable`.
// SAFETY: nghttp2's session is created in `init`, freed in `deinit`, and used on one thread. It calls back
// only during calls of this class, which keep it alive.
@safe package final class HTTP2Session {
    /// The end of the connection.
    package enum Role: Sendable {
        case client, server
    }

    package let role: Role
    let limits: HTTP2Limits
    private var session: OpaquePointer?
    // SAFETY: one thread, and no method calls out while it changes one of these, so accesses never overlap.
    @exclusivity(unchecked) private(set) var streams = StreamTable<HTTP2Stream>()
    @exclusivity(unchecked) var events: [HTTP2Event] = []
    @exclusivity(unchecked) var block: FieldBlock
    var requestDecoder: RequestHeadDecoder
    var responseDecoder: ResponseHeadDecoder
    @exclusivity(unchecked) var budget: FrameBudget
    @exclusivity(unchecked) private var window: ConnectionWindow
    private let memory: ContentBudget
    /// The reason for this class to end the connection.
    var overrun: (code: HTTP2Code, reason: String)?
    /// The number of CONTINUATION frames in the current field block.
    var continuations = 0
    /// Whether a field block is incomplete, so that no other frame may follow.
    package internal(set) var isInBlock = false
    /// Whether the peer accepts no more streams.
    var hasGoneAway = false
    /// Whether this side has ended the connection.
    private var isEnding = false
    /// The last error message of nghttp2.
    var complaint: String?
    @exclusivity(unchecked) private var encoder = FieldEncoder()
    private let encoded = OutputBuffer(capacity: 1024)
    /// The head of the frame being written.
    @exclusivity(unchecked) private var headToWrite: (text: OutputBuffer, kind: FieldLines.Kind)?
    /// Unused buffers for heads.
    @exclusivity(unchecked) private var spare: [OutputBuffer] = []
    private let life = LiveObject(HTTP2Session.self)
    /// The destination of content frames, while output is produced.
    var output: OutputBuffer?
    /// The first of the bytes being received.
    var input: UnsafePointer<UInt8>?

    /// Begins a connection; its first output is the preface with our settings.
    ///
    /// - Parameters:
    ///   - role: the end of the connection.
    ///   - limits: the limits of the connection.
    ///   - memory: the budget for received content.
    package init(
        _ role: Role,
        limits: HTTP2Limits = HTTP2Limits(),
        memory: ContentBudget = .process
    ) {
        self.role = role
        self.limits = limits
        unsafe block = FieldBlock(limits: limits.messages)
        self.memory = memory
        unsafe window = ConnectionWindow(largest: limits.connectionWindow)
        requestDecoder = RequestHeadDecoder(limits: limits.messages)
        responseDecoder = ResponseHeadDecoder(limits: limits.messages)
        unsafe budget = FrameBudget(capacity: limits.idleFrames, perSecond: limits.idleFrameRate)
        unsafe session = HTTP2Callbacks.makeSession(for: self)
        submitSettings()
    }

    deinit {
        unsafe window.close(memory)
        unsafe memory.take(-streams.count * streamCost)
        unsafe nghttp2_session_del(session)
    }

    private func submitSettings() {
        var entries: [nghttp2_settings_entry] = []
        func add(_ id: nghttp2_settings_id, _ value: Int) {
            entries.append(
                nghttp2_settings_entry(
                    settings_id: Int32(id.rawValue),
                    value: UInt32(clamping: value)
                )
            )
        }
        switch role {
        case .client: add(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)
        case .server:
            add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams)
            add(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1)
        }
        add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window)
        add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.messages.sectionSize)
        _ = unsafe nghttp2_submit_settings(session, none, entries, entries.count)
    }

    private var none: UInt8 { UInt8(NGHTTP2_FLAG_NONE.rawValue) }

    // MARK: - Input

    /// Processes bytes from the peer; `takeEvents()` returns their events.
    ///
    /// - Parameters:
    ///   - bytes: the received bytes, in order.
    ///   - now: the time in nanoseconds of any monotonic clock.
    /// - Throws: `HTTP2ConnectionError` if the connection has to end; earlier events are still valid.
    package func receive(
        _ bytes: Span<UInt8>,
        now: UInt64
    ) throws(HTTP2ConnectionError) {
        unsafe budget.refill(now: now)
        let taken = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe input = bytes.baseAddress
            defer { unsafe input = nil }
            return unsafe nghttp2_session_mem_recv(session, bytes.baseAddress, bytes.count)
        }
        if taken >= 0 {
            // For some frames nghttp2 ends the connection without an error, and then accepts no requests.
            guard role == .client, !isEnding, !hasGoneAway, unsafe !streams.isEmpty,
                unsafe nghttp2_session_check_request_allowed(session) == 0
            else { return }
            throw HTTP2ConnectionError(reason: complaint ?? "a frame where it must not be")
        }
        let words = unsafe nghttp2_strerror(Int32(clamping: taken))
        let reason =
            unsafe overrun?.reason ?? complaint ?? words.map { unsafe String(cString: $0) }
            ?? "error \(taken)"
        let code = overrun?.code ?? .protocolError
        _ = unsafe nghttp2_session_terminate_session(session, code.rawValue)
        throw HTTP2ConnectionError(reason: reason)
    }

    /// Replaces the elements of `taken` with the events since the last call, and reuses its memory.
    package func takeEvents(into taken: inout [HTTP2Event]) {
        taken.removeAll(keepingCapacity: true)
        guard unsafe !events.isEmpty else { return }
        var spare: [HTTP2Event] = []
        swap(&spare, &taken)
        taken = unsafe events
        unsafe events = spare
    }

    /// Returns the events since the last call.
    package func takeEvents() -> [HTTP2Event] {
        guard unsafe !events.isEmpty else { return [] }
        var taken: [HTTP2Event] = []
        unsafe swap(&taken, &events)
        return taken
    }

    /// Lets the peer send as many more bytes as have been read, on the stream and on the connection.
    ///
    /// The caller reports each byte of every event `content` once, even if the stream has closed meanwhile.
    package func consumed(_ count: Int, on id: Int32) {
        guard count > 0 else { return }
        unsafe window.consumed(count)
        updateWindow()
        guard let stream = unsafe streams[id] else { return }
        _ = unsafe nghttp2_session_consume_stream(session, id, count)
        let largest = unsafe min(limits.largestWindow, window.largestOfStream)
        if let size = stream.growWindow(from: limits.window, upTo: largest, read: count) {
            _ = unsafe nghttp2_session_set_local_window_size(
                session,
                none,
                id,
                Int32(clamping: size)
            )
        }
    }

    /// The number of content bytes that the peer may still send on all streams together.
    private var outstanding: Int {
        Int(unsafe nghttp2_session_get_local_window_size(session))
    }

    /// Lets the peer send more if the budget permits it.
    private func updateWindow() {
        let credit = unsafe window.update(outstanding: outstanding, from: memory)
        guard credit > 0 else { return }
        _ = unsafe nghttp2_submit_window_update(session, none, 0, Int32(clamping: credit))
    }

    /// Whether the content in memory leaves the peer almost no room for more.
    package var isFull: Bool { unsafe window.isFull(outstanding: outstanding) }

    // MARK: - Output

    /// Whether there is output to produce.
    package var wantsToSend: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    /// Whether the connection is over: nothing more is read, and all output was produced.
    package var isOver: Bool {
        unsafe nghttp2_session_want_read(session) == 0
            && nghttp2_session_want_write(session) == 0
    }

    /// Appends output, exceeding a total of `limit` bytes only slightly.
    ///
    /// - Throws: `HTTP2ConnectionError` if nghttp2 fails.
    package func produce(
        into output: OutputBuffer,
        upTo limit: Int
    ) throws(HTTP2ConnectionError) {
        self.output = output
        defer { self.output = nil }
        while output.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes = unsafe bytes else {
                guard count < 0 else { return }
                throw HTTP2ConnectionError(reason: "nghttp2: error \(count)")
            }
            guard unsafe !writeHead(of: bytes, count, into: output) else { continue }
            output.append(unsafe Span(_unsafeStart: bytes, count: count))
        }
    }

    /// Writes a head frame with our fields instead of nghttp2's placeholder.
    ///
    /// Returns whether the frame begins a head.
    private func writeHead(
        of bytes: UnsafePointer<UInt8>,
        _ count: Int,
        into output: OutputBuffer
    ) -> Bool {
        let frame = unsafe Span(_unsafeStart: bytes, count: count)
        guard frame.count >= 9, frame[3] == UInt8(NGHTTP2_HEADERS.rawValue) else { return false }
        guard let (text, kind) = unsafe headToWrite.take() else { return false }
        let encoded = encoded
        encoded.removeAll()
        unsafe FieldLines.encode(text, kind, with: &encoder, into: encoded)
        text.removeAll()
        if unsafe spare.count < 64 { unsafe spare.append(text) }
        let ends = frame[4] & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue)
        var start = 0
        repeat {
            let end = min(start + HTTP2Session.frameSize, encoded.count)
            let isLast = end == encoded.count
            let type = start == 0 ? NGHTTP2_HEADERS.rawValue : NGHTTP2_CONTINUATION.rawValue
            let last = isLast ? UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue) : 0
            for shift in [16, 8, 0] { output.append(UInt8((end - start) >> shift & 255)) }
            output.append(UInt8(type))
            output.append((start == 0 ? ends : 0) | last)
            output.append(frame.extracting(5..<9))
            output.append(encoded.span.extracting(start..<end))
            start = end
        } while start < encoded.count
        return true
    }

    /// The maximum frame size that every peer accepts, in bytes.
    private static let frameSize = 16_384

    /// Returns a copy of a head, kept until its frame is written.
    private func kept(_ head: OutputBuffer) -> OutputBuffer {
        let copy = unsafe spare.popLast() ?? OutputBuffer(capacity: 2048)
        copy.append(head.span)
        return copy
    }

    /// The number of our concurrent streams that the peer permits.
    package var admittedStreams: Int {
        Int(
            unsafe nghttp2_session_get_remote_settings(
                session,
                NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
            )
        )
    }

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - head: the head in the format of HTTP/1.
    ///   - method: the method in the head.
    ///   - scheme: the scheme of the origin.
    ///   - hasContent: whether `send` and `end` follow.
    /// - Returns: the stream; `nil` if the connection accepts no more requests.
    package func sendRequest(
        _ head: OutputBuffer,
        method: HTTPMethod,
        scheme: StaticString,
        hasContent: Bool
    ) -> Int32? {
        // RFC 9113 §6.8: no request may follow a GOAWAY from either side.
        guard unsafe nghttp2_session_check_request_allowed(session) == 1 else { return nil }
        let id = unsafe HTTP2Callbacks.withPlaceholder { field in
            guard hasContent else {
                return unsafe nghttp2_submit_request(session, nil, field, 1, nil, nil)
            }
            var provider = unsafe HTTP2Callbacks.provider
            return unsafe nghttp2_submit_request(session, nil, field, 1, &provider, nil)
        }
        guard id > 0 else { return nil }
        let stream = HTTP2Stream(method)
        _ = stream.state.sendHead()
        if !hasContent { _ = stream.state.sendEnd() }
        stream.queue(kept(head), .request(scheme))
        unsafe streams[id] = stream
        return id
    }

    /// Begins a final response.
    ///
    /// - Parameters:
    ///   - head: the head in the format of HTTP/1.
    ///   - id: the stream of the request.
    ///   - hasContent: whether `send` and `end` follow.
    package func sendResponse(_ head: OutputBuffer, on id: Int32, hasContent: Bool) {
        guard let stream = unsafe streams[id], stream.state.sendHead() == .send else { return }
        if !hasContent { _ = stream.state.sendEnd() }
        stream.queue(kept(head), .response)
        unsafe HTTP2Callbacks.withPlaceholder { field in
            guard hasContent else {
                _ = unsafe nghttp2_submit_response(session, id, field, 1, nil)
                return
            }
            var provider = unsafe HTTP2Callbacks.provider
            _ = unsafe nghttp2_submit_response(session, id, field, 1, &provider)
        }
    }

    /// Sends an interim response with a head in the format of HTTP/1.
    package func sendInterim(_ head: OutputBuffer, on id: Int32) {
        guard let stream = unsafe streams[id] else { return }
        stream.queue(kept(head), .response)
        unsafe HTTP2Callbacks.withPlaceholder { field in
            _ = unsafe nghttp2_submit_headers(session, none, id, nil, field, 1, nil)
        }
    }

    /// Queues content; the event `sent` reports that it was sent.
    package func send(_ piece: ByteSlice, on id: Int32) {
        guard let stream = unsafe streams[id], stream.state.send(piece.count) == .send else {
            return
        }
        stream.queue(piece)
        resume(id, stream)
    }

    /// Ends the message after its content.
    ///
    /// - Parameters:
    ///   - id: the stream of the message.
    ///   - trailers: the fields that follow the content.
    package func end(_ id: Int32, trailers: HTTPHeaders? = nil) {
        guard let stream = unsafe streams[id], stream.state.sendEnd() == .send else { return }
        if let trailers, !trailers.isEmpty {
            let section = OutputBuffer(capacity: 256)
            trailers.encode(into: section)
            stream.trailers = section
        }
        resume(id, stream)
    }

    private func resume(_ id: Int32, _ stream: HTTP2Stream) {
        guard stream.isDeferred else { return }
        stream.isDeferred = false
        _ = unsafe nghttp2_session_resume_data(session, id)
    }

    /// Queues the trailers that end a message; called while the last content frame is written.
    func submitTrailers(_ section: OutputBuffer, on id: Int32) {
        unsafe streams[id]?.queue(kept(section), .trailers)
        unsafe HTTP2Callbacks.withPlaceholder { field in
            _ = unsafe nghttp2_submit_trailer(session, id, field, 1)
        }
    }

    /// Ends a stream immediately.
    package func reset(_ id: Int32, _ code: HTTP2Code) {
        guard let stream = unsafe streams[id] else { return }
        perform(stream.state.reset(code), on: id, stream)
    }

    /// Ends a stream once our message is sent, since the rest of the peer's message is not wanted.
    package func stopReceiving(on id: Int32) {
        guard let stream = unsafe streams[id] else { return }
        perform(stream.state.stopReceiving(.noError), on: id, stream)
    }

    private func perform(
        _ action: StreamState.Action,
        on id: Int32,
        _ stream: HTTP2Stream
    ) {
        guard case .reset(let code) = action else { return }
        stream.drop()
        _ = unsafe nghttp2_submit_rst_stream(session, none, id, code.rawValue)
    }

    /// Sends a PING; the event `pong` reports its acknowledgment.
    package func ping() {
        _ = unsafe nghttp2_submit_ping(session, none, nil)
    }

    /// Sends GOAWAY: later streams get no response; current ones continue.
    ///
    /// - Parameter isLast: whether the received streams are the last ones; otherwise streams in transit are
    ///   still accepted, and a second call follows (RFC 9113 §6.8).
    package func goAway(isLast: Bool) {
        guard isLast else {
            _ = unsafe nghttp2_submit_shutdown_notice(session)
            return
        }
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        _ = unsafe nghttp2_submit_goaway(session, none, last, HTTP2Code.noError.rawValue, nil, 0)
    }

    /// Ends the connection with GOAWAY; nothing more is read.
    package func terminate(_ code: HTTP2Code) {
        isEnding = true
        _ = unsafe nghttp2_session_terminate_session(session, code.rawValue)
    }

    // MARK: - Callbacks

    /// Records the settings of the peer.
    ///
    /// Each table size applies, even if another one follows immediately (RFC 7541 §4.2). nghttp2 keeps the
    /// smallest and the last size of one frame.
    func receive(_ settings: nghttp2_settings) {
        for index in unsafe 0..<settings.niv {
            let entry = unsafe settings.iv[index]
            guard entry.settings_id == Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue) else {
                continue
            }
            unsafe encoder.admit(Int(entry.value))
        }
        unsafe events.append(.settings)
    }

    func open(_ id: Int32, _ stream: HTTP2Stream) {
        if unsafe streams[id] == nil { memory.take(streamCost) }
        unsafe streams[id] = stream
    }

    func close(_ id: Int32) {
        guard unsafe streams.take(id) != nil else { return }
        memory.take(-streamCost)
    }

    /// The share of a stream in the budget; a request to an origin is paid for by its client's connection.
    private var streamCost: Int { role == .server ? ContentBudget.streamCost : 0 }

    /// Takes the head of the next frame to write, since its stream may be closed afterward.
    func beginHead(on id: Int32) { unsafe headToWrite = unsafe streams[id]?.takeHead() }

    func sentEnd(of id: Int32) {
        guard let stream = unsafe streams[id] else { return }
        perform(stream.state.sentEnd(), on: id, stream)
    }

    /// Counts content until it is read.
    func receivedContent(_ count: Int, on stream: HTTP2Stream) {
        stream.unread += count
        unsafe window.received(count)
        updateWindow()
    }

    /// Lets the peer send as many more bytes as were dropped.
    func dropped(_ count: Int, on id: Int32) {
        updateWindow()
        _ = unsafe nghttp2_session_consume_stream(session, id, count)
    }

    /// Reports a message that violates the protocol.
    ///
    /// A client resets the stream; a server may still respond.
    func report(_ fault: HTTP2Fault, on id: Int32, _ stream: HTTP2Stream) {
        let request = unsafe block.kind == .request ? block.refusedRequest : nil
        unsafe events.append(.malformed(id, fault, request))
        if role == .client { perform(stream.state.reset(.protocolError), on: id, stream) }
    }
}
