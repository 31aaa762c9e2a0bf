import NetproxyBytes
import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetworkCore

/// Writes one response to a client: its head with the available content, then the rest.
///
/// | state  | written                   | next                                            |
/// |--------|---------------------------|-------------------------------------------------|
/// | idle   | nothing                   | `start()`: done for most responses, head or body |
/// | head   | a part of the first piece | `finish()`: body, done                          |
/// | body   | the first piece           | `finish()`: done                                |
/// | done   | everything                | –                                               |
/// | broken | less than announced       | –; the connection must be reset                 |
///
/// `start()` and `finish()` throw when the state becomes `broken`.
package struct ResponseWriter: ~Copyable {
    enum State: Equatable {
        case idle
        /// The client must read before the rest of the head can be sent.
        case head(sent: Int)
        case body
        case done
        case broken
    }

    private(set) var state = State.idle
    /// Whether another request may follow on the connection.
    package let persists: Bool
    /// The number of content bytes sent to the client.
    private(set) var bytesOut = 0
    /// Whether the client may have received a part of the head.
    private(set) var isHeadOut = false
    private let connection: DownstreamConnection
    private let output: OutputBuffer
    private var content: ByteSlice?
    /// The number of bytes in `content`.
    private let contentCount: Int
    /// Whether `content` is the whole content.
    private let isWhole: Bool
    /// The content after `content`, and its framing.
    private let source: (any BodySource)?
    private let framing: BodyFraming

    /// Encodes the head.
    ///
    /// - Parameters:
    ///   - response: the response to write.
    ///   - head: the head of the request.
    ///   - persistence: the persistence that the message permits; the connection may have to close
    ///     anyway.
    ///   - connection: the connection to the client.
    package init(
        _ response: borrowing Response,
        to head: borrowing RequestHead,
        _ persistence: Persistence,
        on connection: DownstreamConnection
    ) {
        let loop = connection.loop
        let output = loop.outputs.take()
        let isOld = head.version == .http10
        let status = response.status
        let isBare = status == 204 || status == 304 || head.method == .head
        var framing: BodyFraming
        var content: ByteSlice?
        var isWhole = true
        var source: (any BodySource)?
        switch response.body {
        case .empty, .tunnel:
            framing = isBare ? .none : .length(0)
        case .bytes(let bytes):
            framing = .length(bytes.count)
            content = bytes
        case .stream(let stream, let length):
            framing = length.map { .length($0) } ?? (isOld ? .untilClose : .chunked)
            source = stream
            isWhole = isBare
        }
        // Drop the content of our own or a stub's response to HEAD: it would be read as the next response.
        if isBare {
            source?.cancel()
            (content, source) = (nil, nil)
        }
        var announced = response.announcedLength
        // RFC 9112 §6.1, RFC 9110 §8.6: a 204 has neither framing nor a length, even an announced one.
        if status == 204 || status.kind == .informational {
            (framing, announced) = (.none, nil)
        } else if announced != nil {
            framing = .none
        }
        let persists = connection.beginResponse(framing == .untilClose ? .close : persistence)
        HeadEncoder.encodeResponse(
            status: status,
            headers: response.headers,
            // RFC 9110 §6.6.1: a recipient with a clock adds the date.
            date: response.headers.contains(KnownField.date) ? nil : loop.wallNow / 1_000_000_000,
            framing: framing,
            announcedLength: announced,
            connection: persists ? .kept(seconds: DownstreamState.announcedKeepAlive) : .close,
            hopFields: HTTPHeaders(upgradeOf: response.headers),
            into: output
        )
        // Send the content that arrived with the head together with it, in one system call and one packet.
        if !isWhole, framing != .chunked { content = source?.buffered() }
        self.connection = connection
        self.output = output
        self.persists = persists
        self.content = content
        contentCount = content?.count ?? 0
        self.isWhole = isWhole
        self.source = source
        self.framing = framing
    }

    /// Writes the whole response.
    ///
    /// - Throws: `NetworkError` on the downstream side, and the errors of the content's source.
    package mutating func write() async throws {
        try start()
        try await finish()
    }

    /// Writes as much as the kernel accepts at once, which is all of most responses.
    mutating func start() throws(NetworkError) {
        let (socket, loop) = (connection.socket, connection.loop)
        var isPosted = false
        do throws(IOError) {
            if isWhole, persists {
                isPosted = try socket.post(
                    output,
                    content,
                    until: loop.deadline(after: connection.request.idleTimeout)
                )
            }
            if !isPosted, let sent = try socket.writeNow(output, &content) {
                isHeadOut = sent > 0
                state = .head(sent: sent)
                return
            }
        } catch {
            loop.outputs.give(output)
            source?.cancel()
            state = .broken
            throw connection.fault(error)
        }
        // A posted response may fail at once; its output is back in the pool.
        if isPosted, let error = socket.lostPost {
            state = .broken
            throw connection.fault(error)
        }
        isHeadOut = true
        bytesOut = contentCount
        state = isWhole ? .done : .body
        if !isWhole { connection.request.lastSent = loop.now }
        if isWhole, !isPosted { loop.outputs.give(output) }
    }

    /// Writes the rest.
    mutating func finish() async throws {
        if state == .done { return }
        defer { connection.loop.outputs.give(output) }
        do {
            if case .head(let sent) = state {
                try await connection.send(output, content, from: sent)
                (state, isHeadOut, bytesOut) = (.body, true, contentCount)
            }
            if let source { try await stream(source) }
            state = .done
        } catch {
            source?.cancel()
            state = .broken
            throw error
        }
    }

    private mutating func stream(_ source: any BodySource) async throws {
        var body = BodyWriter(framing, written: bytesOut)
        do {
            while let piece = try await source.next() {
                let content = try body.frame(piece, into: output)
                try await connection.send(output, content)
                bytesOut += piece.count
            }
            // RFC 9110 §6.5.1: send trailers only to a client that reads them.
            var trailers = connection.request.takesTrailers ? source.trailers() : nil
            connection.request.sent?.remove(from: &trailers)
            try body.end(trailers: trailers, into: output)
        } catch is BodyWriter.LengthMismatch {
            throw NetworkError(
                .internalError,
                side: .proxy,
                detail: BodyWriter.LengthMismatch.reason
            )
        }
        if output.count > 0 { try await connection.send(output) }
    }
}

extension HTTPHeaders {
    /// Creates the fields with which a 426 names the required protocols (RFC 9110 §7.8); usually none.
    fileprivate init(upgradeOf response: HTTPHeaders) {
        self.init()
        guard response.contains(KnownField.upgrade), let protocols = response[.upgrade] else {
            return
        }
        append(.connection, validated: "Upgrade")
        append(.upgrade, validated: protocols)
    }
}

/// A response that waits for the client to read, or for its own content.
final class PendingResponse {
    private var writer: ResponseWriter?

    init(_ writer: consuming ResponseWriter) {
        self.writer = consume writer
    }

    /// Returns the writer, to write the rest.
    func take() -> ResponseWriter? { writer.take() }
}
