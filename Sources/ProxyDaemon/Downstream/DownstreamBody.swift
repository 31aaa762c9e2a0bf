import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// The content of an app's request, pulled by whoever sends it upstream.
///
/// The first pull sends the `100 Continue` that the app may wait for: nothing of the body is asked
/// for before somebody wants it.
struct DownstreamBody: BodySource {
    let connection: LoopBound<DownstreamConnection>
    let exchange: Int

    func next() async throws -> ByteSlice? {
        let bound = connection
        let pull = bound.value.beginPull()
        defer { bound.value.endPull() }
        return try await withTaskCancellationHandler {
            try await bound.value.nextPiece(of: exchange)
        } onCancel: {
            // By then somebody else may read.
            bound.loop.submit { bound.value.cancelPull(pull) }
        }
    }
}

extension DownstreamConnection {
    /// The content of the request that was read last: here already, or to be pulled.
    func requestBody(_ framing: BodyFraming) -> HTTPBody {
        switch framing {
        case .none, .untilClose, .length(0): return .empty
        case .length(let length):
            if length <= buffer.count {
                intake?.body = nil
                current.owesContinue = false
                current.bytesIn = length
                return .bytes(buffer.take(length))
            }
            return .stream(source, length: length)
        case .chunked: return .stream(source, length: nil)
        }
    }

    private var source: DownstreamBody {
        DownstreamBody(connection: LoopBound(self, on: loop), exchange: current.number)
    }

    /// The next piece of the request's content.
    ///
    /// - Throws: `NetworkError` on the downstream side: malformed, cut short, or too slow.
    func nextPiece(of exchange: Int) async throws -> ByteSlice? {
        guard exchange == current.number else { return nil }
        if current.owesContinue {
            current.owesContinue = false
            try await writeInterim(100)
        }
        while let intake, var decoder = intake.body {
            let event: BodyDecoder.Event
            do throws(HTTP1Error) {
                event = try nextEvent(&decoder)
            } catch {
                throw NetworkError(error)
            }
            intake.body = decoder
            switch event {
            case .data(let skip, let count):
                buffer.consume(skip)
                current.bytesIn += count
                return buffer.take(count)
            case .end(let consumed):
                buffer.consume(consumed)
                intake.body = nil
                return nil
            case .needMore(let consumed):
                buffer.consume(consumed)
                try await readMore(at: intake)
            }
        }
        return nil
    }

    private func nextEvent(_ decoder: inout BodyDecoder) throws(HTTP1Error) -> BodyDecoder.Event {
        try buffer.withSpan { bytes throws(HTTP1Error) in try decoder.next(bytes) }
    }

    /// Notes that somebody reads the content of the request.
    ///
    /// - Returns: a number for `cancelPull(_:)`.
    func beginPull() -> Int {
        pull.number += 1
        pull.isOn = true
        return pull.number
    }

    func endPull() {
        pull.isOn = false
        pull.waiting.take()?.resume()
    }

    /// Ends the wait of one reader; not that of whoever came later.
    func cancelPull(_ number: Int) {
        if pull.isOn, pull.number == number { socket.cancelRead() }
    }

    /// Returns once nobody reads the content of the request any more: an upload may outlive the
    /// answer.
    func stopPulling() async {
        guard pull.isOn else { return }
        socket.cancelRead()
        await withCheckedContinuation { pull.waiting = $0 }
    }

    private func readMore(at intake: Intake) async throws {
        // Called off while something else was waited for.
        try Task.checkCancellation()
        let started = loop.now
        defer { intake.pace.waited(from: started, to: loop.now) }
        let idle = loop.deadline(after: current.idleTimeout)
        do throws(IOError) {
            let slowest = intake.pace.deadline(after: current.bytesIn, now: started)
            let count = try await readPiece(idle, slowest)
            guard count == 0 else { return }
            throw IOError.closedByPeer
        } catch {
            switch error {
            case .timedOut where loop.now < idle:
                throw NetworkError(
                    .requestBodyTimeout,
                    side: .downstream,
                    detail: "the request body arrives too slowly; see limits.body_rate"
                )
            case .timedOut:
                throw NetworkError(
                    .connectionReadTimeout,
                    side: .downstream,
                    detail: "the request body stopped arriving"
                )
            case .aborted where Task.isCancelled:
                throw CancellationError()
            default:
                throw NetworkError(
                    .cancelled,
                    side: .downstream,
                    detail: "the app went away in its request"
                )
            }
        }
    }

    /// Reads what comes next, until the app has been idle for too long, or is too slow: that counts in
    /// front of the answer only, since behind it an app may wait for more of it.
    private func readPiece(_ idle: UInt64, _ slowest: UInt64) async throws(IOError) -> Int {
        while true {
            let limit = phase == .answering ? idle : min(idle, slowest)
            do throws(IOError) {
                return try await socket.read(
                    into: buffer,
                    minimum: Slab.standardCapacity,
                    until: limit
                )
            } catch {
                guard error == .timedOut, limit < idle, phase == .answering else { throw error }
            }
        }
    }
}
