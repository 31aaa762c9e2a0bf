import NetproxyBytes
import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
package import NetworkCore

/// The content of an app's request, read as the upstream takes it.
///
/// The first read sends the `100 Continue` that the app may wait for: no content is asked for before
/// it is wanted.
final class DownstreamBody: BodySource {
    private let connection: LoopBound<DownstreamConnection>
    /// The number of the request.
    private let request: Int

    init(connection: LoopBound<DownstreamConnection>, request: Int) {
        self.connection = connection
        self.request = request
    }

    func next() async throws -> ByteSlice? {
        let (bound, request) = (connection, request)
        let read = bound.value.upload.begin()
        defer { bound.value.upload.end() }
        return try await withTaskCancellationHandler {
            try await bound.value.nextPiece(of: request)
        } onCancel: {
            bound.loop.submit { bound.value.cancelUpload(read) }
        }
    }
}

/// The one reader of a request's content, and who waits for its end.
struct UploadReader {
    /// Numbers the reads, so that a late cancellation does not end a later read.
    private var number = 0
    private var isReading = false
    private var waiter: CheckedContinuation<Void, Never>?

    /// - Returns: the number of the read.
    mutating func begin() -> Int {
        number += 1
        isReading = true
        return number
    }

    mutating func end() {
        isReading = false
        waiter.take()?.resume()
    }

    /// Whether this read, or any, is under way.
    func isUnderWay(_ read: Int? = nil) -> Bool { isReading && (read ?? number) == number }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiter = continuation }
}

/// Reads the requests of one connection: their heads, and the content after them.
///
/// An object, because an idle connection has none.
final class RequestReader {
    var decoder: RequestHeadDecoder
    /// The head that was read, until its exchange begins.
    var head: RequestHead?
    /// The content that is still to be read; `nil` without any.
    var body: RequestContent?
    /// The pieces of the content that were read before anyone asked for them, the next one last.
    var gathered: [ByteSlice] = []
    var pace: BodyPace
    private let life = LiveObject(RequestReader.self)

    init(limits: HTTP1Limits, bodyRate: Int?) {
        decoder = RequestHeadDecoder(limits: limits)
        pace = BodyPace(rate: bodyRate)
    }

    /// A request begins whose content is framed so.
    func beginBody(_ framing: BodyFraming, limits: HTTP1Limits) {
        guard framing != .none, framing != .length(0) else { return body = nil }
        body = RequestContent(framing, limits: limits)
        gathered = []
        pace.reset()
    }
}

/// What is still to come of the content of a request.
///
/// An object, because most requests have none.
final class RequestContent {
    private var reader: BodyReader

    init(_ framing: BodyFraming, limits: HTTP1Limits) {
        reader = BodyReader(framing, limits: limits)
    }

    /// Whether nothing is left to come.
    var isComplete: Bool { reader.isComplete }

    /// Takes the next piece out of what was read.
    func next(from buffer: ReadBuffer) throws(HTTP1Error) -> BodyReader.Step {
        try reader.next(from: buffer)
    }
}

extension DownstreamConnection {
    /// The content of the request whose head was read last: here already, or to be read.
    package func requestBody(_ framing: BodyFraming) -> HTTPBody {
        switch framing {
        case .none, .untilClose, .length(0): return .empty
        case .length(let length):
            guard length <= buffer.count else { return .stream(source, length: length) }
            reader?.body = nil
            request.owesContinue = false
            request.bytesIn = length
            return .bytes(buffer.take(length))
        case .chunked: return .stream(source, length: nil)
        }
    }

    private var source: DownstreamBody {
        DownstreamBody(connection: LoopBound(self, on: loop), request: request.number)
    }

    /// Waits a moment for content that is still to come, since most of it follows its head at once.
    ///
    /// Content that is here as a whole has a length, which some servers insist on (411), can be sent
    /// any number of times, and takes no connection to the upstream while its app is slow.
    ///
    /// - Parameter body: the content as it was announced.
    /// - Returns: all of it, or the same, from which nothing is lost.
    /// - Throws: `http_request_error` if it is malformed.
    func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody {
        // An app that waits for a 100 sends nothing before; the upstream has to ask for it.
        guard let reader, !request.owesContinue, case .stream = body else { return body }
        let end = loop.deadline(after: DownstreamConnection.gatheringTime)
        var pieces: [ByteSlice] = []
        var count = 0
        defer { reader.gathered = pieces.reversed() }
        while count < DownstreamConnection.gatheringLimit {
            let step: BodyReader.Step?
            do throws(HTTP1Error) {
                step = try reader.body?.next(from: buffer)
            } catch {
                throw NetworkError(error)
            }
            switch step {
            case .piece(let piece):
                request.bytesIn += piece.count
                count += piece.count
                pieces.append(piece)
            case .needMore:
                // An end or a fault is met again by the next read.
                guard await readSome(until: end) else { return body }
            case .end, nil:
                reader.body = nil
                defer { pieces = [] }
                return DownstreamConnection.whole(pieces, count)
            }
        }
        return body
    }

    /// How long to wait for content: long enough for an app that writes it after the head, or in a few
    /// pieces.
    private static let gatheringTime = Duration.milliseconds(100)
    /// How much to wait for, in bytes: as much as `retry.replay_body` keeps by default.
    private static let gatheringLimit = 64 * 1024

    private func readSome(until end: UInt64) async -> Bool {
        do throws(IOError) {
            return try await socket.read(
                into: buffer,
                minimum: Slab.standardCapacity,
                until: end
            ) > 0
        } catch {
            return false
        }
    }

    private static func whole(_ pieces: [ByteSlice], _ count: Int) -> HTTPBody {
        guard let first = pieces.first else { return .empty }
        guard pieces.count > 1 else { return .bytes(first) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for piece in pieces { bytes.append(piece.span) }
        return .bytes(ByteSlice(bytes))
    }

    /// The next piece of the request's content.
    ///
    /// - Throws: `NetworkError` on the downstream side: malformed, cut short, or too slow.
    func nextPiece(of number: Int) async throws -> ByteSlice? {
        guard number == request.number else { return nil }
        if request.owesContinue {
            request.owesContinue = false
            try await writeInterim(100)
        }
        if let piece = reader?.gathered.popLast() { return piece }
        while let reader, reader.body != nil {
            let step: BodyReader.Step?
            do throws(HTTP1Error) {
                step = try reader.body?.next(from: buffer)
            } catch {
                throw NetworkError(error)
            }
            switch step {
            case .piece(let piece):
                request.bytesIn += piece.count
                return piece
            case .needMore: try await readMore(reader)
            case .end, nil:
                reader.body = nil
                return nil
            }
        }
        return nil
    }

    private func readMore(_ reader: RequestReader) async throws {
        // It may have been cancelled while something else was waited for.
        try Task.checkCancellation()
        let started = loop.now
        defer { reader.pace.waited(from: started, to: loop.now) }
        let idle = loop.deadline(after: request.idleTimeout)
        do throws(IOError) {
            let slowest = reader.pace.deadline(after: request.bytesIn, now: started)
            guard try await readPiece(idle, slowest) == 0 else { return }
            throw IOError.closedByPeer
        } catch {
            switch error {
            case .timedOut where loop.now < idle:
                throw bounds.slowBody
            case .timedOut:
                throw NetworkError.timeout(.requestBody, after: request.idleSetting)
            case .aborted where Task.isCancelled:
                throw CancellationError()
            default:
                throw NetworkError.uploadCut
            }
        }
    }

    /// Reads until the app has been idle for too long, or is too slow: the pace counts before the
    /// response only, since after it begins an app may wait for more of it.
    private func readPiece(_ idle: UInt64, _ slowest: UInt64) async throws(IOError) -> Int {
        while true {
            let limit = state.phase == .responding ? idle : min(idle, slowest)
            do throws(IOError) {
                return try await socket.read(
                    into: buffer,
                    minimum: Slab.standardCapacity,
                    until: limit
                )
            } catch {
                guard error == .timedOut, limit < idle, state.phase == .responding else {
                    throw error
                }
            }
        }
    }

    /// Ends one read of the request's content, but no later one.
    func cancelUpload(_ read: Int) {
        if upload.isUnderWay(read) { socket.cancelRead() }
    }

    /// Returns when the content of the request is no longer read: an upload may outlive the response.
    func stopUpload() async {
        guard upload.isUnderWay() else { return }
        socket.cancelRead()
        await withCheckedContinuation { upload.wait($0) }
    }
}

extension NetworkError {
    /// A request that HTTP/1 does not allow, with the status that says so.
    package init(_ error: HTTP1Error) {
        self.init(
            .httpRequestError,
            side: .downstream,
            detail: "\(error.reason)",
            status: error.status
        )
    }
}
