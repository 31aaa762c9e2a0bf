import NetproxyBytes
import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetworkCore

/// Writes one response to an app: its head with the content that is already here, then the rest.
///
/// | state  | what is out               | next                                            |
/// |--------|---------------------------|-------------------------------------------------|
/// | idle   | nothing                   | `start()`: done for most responses, head or body |
/// | head   | a part of the first piece | `finish()`: body, done                          |
/// | body   | the first piece           | `finish()`: done                                |
/// | done   | everything                | –                                               |
/// | broken | less than was announced   | –; the connection must be reset                 |
///
/// `start()` and `finish()` throw when the state becomes `broken`.
package struct ResponseWriter: ~Copyable {
    enum State: Equatable {
        case idle
        /// The app must read before the rest of the head can be sent.
        case head(sent: Int)
        case body
        case done
        case broken
    }

    private(set) var state = State.idle
    /// Whether another request may follow on the connection.
    package let persists: Bool
    /// Content bytes that went to the app.
    private(set) var bytesOut = 0
    /// Whether the app may have any of the head.
    private(set) var isHeadOut = false
    private let connection: DownstreamConnection
    private let output: OutputBuffer
    private var content: ByteSlice?
    /// The bytes of `content`.
    private let contentCount: Int
    /// Whether `content` is all of it.
    private let isWhole: Bool
    /// The content after that, and how it is framed.
    private let source: (any BodySource)?
    private let framing: BodyFraming

    /// Encodes the head.
    ///
    /// - Parameters:
    ///   - response: what to write.
    ///   - head: the request that it answers.
    ///   - persistence: what the message wants; the connection may have to close all the same.
    ///   - connection: to the app.
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
        // Our own response to HEAD, or a stub's: its content would be read as the next response.
        if isBare {
            source?.cancel()
            (content, source) = (nil, nil)
        }
        var announced = response.announcedLength
        // RFC 9112 §6.1, RFC 9110 §8.6: 204 has neither a framing nor a length, even an announced one.
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
            into: output
        )
        // What arrived with the head goes out with it: one system call, one packet.
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

    /// Writes all of a response.
    ///
    /// - Throws: `NetworkError` on the app's side, and what the content's source throws.
    package mutating func write() async throws {
        try start()
        try await finish()
    }

    /// Writes what the kernel takes at once, which is all of most responses.
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
        // A posted response may be lost at once; its output is back in the pool.
        if isPosted, let error = socket.lostPost {
            state = .broken
            throw connection.fault(error)
        }
        isHeadOut = true
        bytesOut = contentCount
        state = isWhole ? .done : .body
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
            // RFC 9110 §6.5.1: only to an app that said that it reads them.
            let trailers = connection.request.takesTrailers ? source.trailers() : nil
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

/// A response that waits for the app to read, or for its own content.
final class PendingResponse {
    private var writer: ResponseWriter?

    init(_ writer: consuming ResponseWriter) {
        self.writer = consume writer
    }

    /// Gives the writer away, to write the rest.
    func take() -> ResponseWriter? { writer.take() }
}
