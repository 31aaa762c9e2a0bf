import NetproxyBytes
import NetproxyEventIO
package import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
package import NetworkCore

/// The content of a client's request, read as fast as the upstream accepts it.
///
/// The first read sends the `100 Continue` for which the client may wait, so the client sends no content
/// before it is needed.
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

/// The state of the one reader of a request's content, with the task that waits for its end.
struct UploadReader {
    /// The number of the latest read, so that a late cancellation does not end a later read.
    private var number = 0
    private var isReading = false
    private var waiter: CheckedContinuation<Void, Never>?

    /// Begins a read.
    ///
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

    /// Whether this read, or any, is in progress.
    func isUnderWay(_ read: Int? = nil) -> Bool { isReading && (read ?? number) == number }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) { waiter = continuation }
}

/// Reads the requests of one connection: their heads, and the content after them.
///
/// A class, because an idle connection has no reader.
final class RequestReader {
    var decoder: RequestHeadDecoder
    /// The decoded head, until its exchange begins.
    var head: RequestHead?
    /// The unread content; `nil` if there is none.
    var body: RequestContent?
    /// The pieces of the content that `gather` read early, in reverse order.
    var gathered: [ByteSlice] = []
    var pace: BodyPace
    private let life = LiveObject(RequestReader.self)

    init(limits: HTTP1Limits, bodyRate: Int?) {
        decoder = RequestHeadDecoder(limits: limits)
        pace = BodyPace(rate: bodyRate)
    }

    /// Prepares for the content of a request.
    func beginBody(_ framing: BodyFraming, limits: HTTP1Limits) {
        guard framing != .none, framing != .length(0) else { return body = nil }
        body = RequestContent(framing, limits: limits)
        gathered = []
        pace.reset()
    }
}

/// The unread content of a request.
///
/// A class, because most requests have none.
final class RequestContent {
    private var reader: BodyReader

    init(_ framing: BodyFraming, limits: HTTP1Limits) {
        reader = BodyReader(framing, limits: limits)
    }

    /// Whether all content has been read.
    var isComplete: Bool { reader.isComplete }

    /// Removes the next piece from the buffer.
    func next(from buffer: ReadBuffer) throws(HTTP1Error) -> BodyReader.Part {
        try reader.next(from: buffer)
    }
}

extension DownstreamConnection {
    /// Returns the content of the latest request, either complete or as a stream.
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

    /// Waits briefly for the rest of the content, since most of it directly follows its head.
    ///
    /// Complete content has a length, which some servers require (411). It can be sent any number of
    /// times, and it occupies no connection to the upstream while the client is slow.
    ///
    /// - Parameter body: the announced content.
    /// - Returns: the complete content, or `body` if it does not arrive in time; nothing is lost.
    /// - Throws: `http_request_error` if the content is malformed.
    func gather(_ body: HTTPBody) async throws(NetworkError) -> HTTPBody {
        // A client that waits for a 100 sends nothing yet; the upstream has to request the content.
        guard let reader, !request.owesContinue, case .stream = body else { return body }
        let end = loop.deadline(after: DownstreamConnection.gatheringTime)
        var pieces: [ByteSlice] = []
        var count = 0
        defer { reader.gathered = pieces.reversed() }
        while count < DownstreamConnection.gatheringLimit {
            let step: BodyReader.Part?
            do throws(HTTP1Error) {
                step = try reader.body?.next(from: buffer)
            } catch {
                throw NetworkError(error, bounds.limits)
            }
            switch step {
            case .piece(let piece):
                request.bytesIn += piece.count
                count += piece.count
                pieces.append(piece)
            case .needMore:
                // The next read sees the end or the error again.
                guard await readSome(until: end) else { return body }
            case .end, nil:
                reader.body = nil
                defer { pieces = [] }
                return DownstreamConnection.whole(pieces, count)
            }
        }
        return body
    }

    /// The time to wait for content, enough for a client that writes it after the head or in a few pieces.
    private static let gatheringTime = Duration.milliseconds(100)
    /// The largest content to wait for, in bytes: the default of `retry.replay_body`.
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

    /// Returns the next piece of the request's content.
    ///
    /// - Throws: `NetworkError` on the downstream side for malformed, truncated or slow content.
    func nextPiece(of number: Int) async throws -> ByteSlice? {
        guard number == request.number else { return nil }
        if request.owesContinue {
            request.owesContinue = false
            try await writeInterim(100)
        }
        if let piece = reader?.gathered.popLast() { return piece }
        while let reader, reader.body != nil {
            let step: BodyReader.Part?
            do throws(HTTP1Error) {
                step = try reader.body?.next(from: buffer)
            } catch {
                throw NetworkError(error, bounds.limits)
            }
            switch step {
            case .piece(let piece):
                request.bytesIn += piece.count
                request.lastReceived = loop.now
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
        // The task may have been canceled during another wait.
        try Task.checkCancellation()
        let started = loop.now
        defer { reader.pace.waited(from: started, to: loop.now) }
        do throws(IOError) {
            let slowest = reader.pace.deadline(after: request.bytesIn, now: started)
            guard try await readPiece(slowest) == 0 else { return }
            throw IOError.closedByPeer
        } catch {
            switch error {
            case .timedOut where loop.now < request.idleDeadline(since: started):
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

    /// Reads until the client has been idle for too long or is too slow.
    ///
    /// The pace counts only before the response, since after it begins a client may wait for more of the
    /// response. For the same reason the client is not idle while it receives the response.
    private func readPiece(_ slowest: UInt64) async throws(IOError) -> Int {
        let started = loop.now
        while true {
            let idle = request.idleDeadline(since: started)
            let limit = state.phase == .responding ? idle : min(idle, slowest)
            do throws(IOError) {
                return try await socket.read(
                    into: buffer,
                    minimum: Slab.standardCapacity,
                    until: limit
                )
            } catch {
                guard error == .timedOut, state.phase == .responding,
                    loop.now < request.idleDeadline(since: started)
                else { throw error }
            }
        }
    }

    /// Cancels one read of the request's content, but no later one.
    func cancelUpload(_ read: Int) {
        if upload.isUnderWay(read) { socket.cancelRead() }
    }

    /// Stops the upload, which may outlive the response, and returns when its reader has ended.
    func stopUpload() async {
        guard upload.isUnderWay() else { return }
        socket.cancelRead()
        await withCheckedContinuation { upload.wait($0) }
    }
}
