import NetproxyBytes
import NetproxyHTTP1
package import NetproxyHTTP2
package import NetproxyHTTPMessage

/// One end of an HTTP/2 connection that a test controls, over a `Wire`.
///
/// Used by one task; not `Sendable`.
package final class HTTP2Peer {
    /// A received message.
    package struct Message: Sendable {
        package let stream: Int32
        package var method = ""
        package var target = ""
        package var status = 0
        package var headers: HTTPHeaders
        package var content: [UInt8] = []
        package var trailers: HTTPHeaders?

        package init(stream: Int32, headers: HTTPHeaders) {
            self.stream = stream
            self.headers = headers
        }

        /// The content as text.
        package var body: String { String(decoding: content, as: UTF8.self) }
        /// The value of a field.
        package subscript(_ name: String) -> String? { headers[HTTPFieldName(stringLiteral: name)] }
    }

    package let session: HTTP2Session
    private let wire: Wire
    private var open: [Int32: Message] = [:]
    private var complete: [Message] = []
    /// The streams whose head has arrived, but whose message is incomplete.
    package private(set) var begun: [Int32] = []
    /// The codes with which the peer reset streams.
    package private(set) var resets: [Int32: HTTP2Code] = [:]
    package private(set) var interim: [Int] = []
    /// The last stream of each GOAWAY.
    package private(set) var goAways: [Int32] = []
    /// The number of received PING frames, each in one read.
    package private(set) var pings = 0
    /// Whether received content is consumed; otherwise the windows stay unchanged.
    package var consumes = true

    package init(_ wire: Wire, as role: HTTP2Session.Role, limits: HTTP2Limits = HTTP2Limits()) {
        self.wire = wire
        session = HTTP2Session(role, limits: limits)
    }

    // MARK: - Sending

    /// Sends the pending output of the session.
    package func flush() async throws {
        while session.wantsToSend {
            let output = OutputBuffer()
            try session.produce(into: output, upTo: 1 << 16)
            guard output.count > 0 else { return }
            try await wire.send(output.span.array)
        }
    }

    /// Begins a request; `content` is the whole content, or `nil` if `send` and `end` follow.
    package func request(
        _ method: HTTPMethod = .get,
        _ target: String,
        host: String = "localhost",
        _ headers: HTTPHeaders = [:],
        content: String? = ""
    ) async throws -> Int32? {
        let head = OutputBuffer()
        let hasContent = content != ""
        HeadEncoder.encodeRequest(
            method: method,
            target: target,
            host: host,
            headers: headers,
            framing: content.map { $0.isEmpty ? .none : .length($0.utf8.count) } ?? .chunked,
            into: head
        )
        // The encoder omits `TE`.
        let te = headers[.te]
        if let te { head.truncate(to: head.count - 2); head.append("TE: \(te)\r\n\r\n") }
        let stream = session.sendRequest(
            head,
            method: method,
            scheme: "http",
            hasContent: hasContent
        )
        if let stream, let content, hasContent {
            session.send(ByteSlice(content), on: stream)
            session.end(stream)
        }
        try await flush()
        return stream
    }

    /// Sends a response.
    package func respond(
        to stream: Int32,
        _ status: HTTPStatus = 200,
        _ headers: HTTPHeaders = [:],
        _ content: String = "",
        trailers: HTTPHeaders? = nil,
        isChunked: Bool = false
    ) async throws {
        let head = OutputBuffer()
        HeadEncoder.encodeResponse(
            status: status,
            headers: headers,
            framing: isChunked || trailers != nil ? .chunked : .length(content.utf8.count),
            into: head
        )
        let hasContent = !content.isEmpty || trailers != nil
        session.sendResponse(head, on: stream, hasContent: hasContent)
        if hasContent {
            session.send(ByteSlice(content), on: stream)
            session.end(stream, trailers: trailers)
        }
        try await flush()
    }

    /// Begins a response; its content follows, with the announced length if there is one.
    package func beginResponse(
        to stream: Int32,
        _ headers: HTTPHeaders = [:],
        length: Int? = nil
    ) async throws {
        let head = OutputBuffer()
        HeadEncoder.encodeResponse(
            status: 200,
            headers: headers,
            framing: length.map { .length($0) } ?? .chunked,
            into: head
        )
        session.sendResponse(head, on: stream, hasContent: true)
        try await flush()
    }

    /// Sends a part of the content; with `isLast`, the last part.
    package func send(_ content: String, on stream: Int32, isLast: Bool = false) async throws {
        if !content.isEmpty { session.send(ByteSlice(content), on: stream) }
        if isLast { session.end(stream) }
        try await flush()
    }

    package func reset(_ stream: Int32, _ code: HTTP2Code) async throws {
        session.reset(stream, code)
        try await flush()
    }

    /// Sends an interim response.
    package func interim(_ status: HTTPStatus, on stream: Int32) async throws {
        let head = OutputBuffer()
        HeadEncoder.encodeInformational(status: status, headers: [:], into: head)
        session.sendInterim(head, on: stream)
        try await flush()
    }

    /// Sends a raw frame.
    package func raw(_ bytes: [UInt8]) async throws { try await wire.send(bytes) }

    // MARK: - Receiving

    /// Returns the next complete message; `nil` at the end of the connection.
    package func next() async throws -> Message? {
        while complete.isEmpty {
            guard try await receive() else { return nil }
        }
        return complete.removeFirst()
    }

    /// Returns the message of a stream.
    ///
    /// - Throws: `WireError.ended` if there is none.
    package func message(on stream: Int32?) async throws -> Message {
        while true {
            if let index = complete.firstIndex(where: { $0.stream == stream }) {
                return complete.remove(at: index)
            }
            guard try await receive() else { throw WireError.ended }
        }
    }

    /// Receives until a condition is true.
    ///
    /// - Throws: `WireError.ended` at the end of the connection.
    package func receive(until condition: (HTTP2Peer) -> Bool) async throws {
        while !condition(self) {
            guard try await receive() else { throw WireError.ended }
        }
    }

    /// Receives until a condition is true, and sends nothing, not even the settings.
    ///
    /// - Throws: `WireError.ended` at the end of the connection.
    package func receiveOnly(until condition: (HTTP2Peer) -> Bool) async throws {
        while !condition(self) {
            guard let bytes = try await wire.bytes() else { throw WireError.ended }
            try session.receive(bytes.span, now: 1)
            for event in session.takeEvents() { take(event, bytes) }
        }
    }

    /// Returns the content received on a stream so far.
    package func content(on stream: Int32) -> [UInt8] { open[stream]?.content ?? [] }

    /// Whether the message on a stream is complete, or the stream was reset.
    package func hasEnded(_ stream: Int32) -> Bool {
        resets[stream] != nil || complete.contains { $0.stream == stream }
    }

    private func receive() async throws -> Bool {
        guard let bytes = try await wire.bytes() else { return false }
        for start in bytes.indices where bytes[start...].starts(with: [0, 0, 8, 6, 0]) {
            pings += 1
        }
        try session.receive(bytes.span, now: 1)
        for event in session.takeEvents() { take(event, bytes) }
        try await flush()
        return true
    }

    private func take(_ event: HTTP2Event, _ bytes: [UInt8]) {
        switch event {
        case .request(let id, let head, let ends):
            begun.append(id)
            open[id] = Message(stream: id, headers: head.headers)
            open[id]?.method = head.method.rawValue
            open[id]?.target = head.target.pathAndQuery ?? ""
            if ends { finish(id, nil) }
        case .response(let id, let head, let ends):
            guard head.status.kind != .informational else {
                return interim.append(head.status.rawValue)
            }
            begun.append(id)
            open[id] = Message(stream: id, headers: head.headers)
            open[id]?.status = head.status.rawValue
            if ends { finish(id, nil) }
        case .content(let id, let range):
            open[id]?.content += bytes[range]
            if consumes { session.consumed(range.count, on: id) }
        case .ended(let id, let trailers): finish(id, trailers)
        case .closed(let id, let code): if code != .noError { resets[id] = code }
        case .goAway(let last, _): goAways.append(last)
        case .malformed, .sent, .settings, .pong: break
        }
    }

    private func finish(_ id: Int32, _ trailers: HTTPHeaders?) {
        guard var message = open.removeValue(forKey: id) else { return }
        message.trailers = trailers
        complete.append(message)
    }
}

extension OriginServer {
    /// Starts a server that uses HTTP/2 with prior knowledge and responds to each request.
    package static func startHTTP2(
        _ answer: @escaping @Sendable (HTTP2Peer, HTTP2Peer.Message) async throws -> Void
    ) async throws -> OriginServer {
        try await start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            while let message = try await peer.next() { try await answer(peer, message) }
        }
    }
}
