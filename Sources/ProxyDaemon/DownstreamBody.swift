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
        return try await withTaskCancellationHandler {
            try await bound.value.nextPiece(of: exchange)
        } onCancel: {
            bound.loop.submit { bound.value.socket.cancelRead() }
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
                body = nil
                owesContinue = false
                bytesIn = length
                return .bytes(buffer.take(length))
            }
            return .stream(source, length: length)
        case .chunked: return .stream(source, length: nil)
        }
    }

    private var source: DownstreamBody {
        DownstreamBody(connection: LoopBound(self, on: loop), exchange: exchange)
    }

    /// The next piece of the request's content.
    ///
    /// - Throws: `NetworkError` on the downstream side: malformed, cut short, or too slow.
    func nextPiece(of exchange: Int) async throws -> ByteSlice? {
        guard exchange == self.exchange else { return nil }
        if owesContinue {
            owesContinue = false
            try await writeInterim(100)
        }
        while var decoder = body {
            let event: BodyDecoder.Event
            do throws(HTTP1Error) {
                event = try nextEvent(&decoder)
            } catch {
                throw NetworkError(
                    .httpRequestError,
                    side: .downstream,
                    detail: "\(error.reason)",
                    status: error.status
                )
            }
            body = decoder
            switch event {
            case .data(let skip, let count):
                buffer.consume(skip)
                bytesIn += count
                return buffer.take(count)
            case .end(let consumed):
                buffer.consume(consumed)
                body = nil
                return nil
            case .needMore(let consumed):
                buffer.consume(consumed)
                try await readMore()
            }
        }
        return nil
    }

    private func nextEvent(_ decoder: inout BodyDecoder) throws(HTTP1Error) -> BodyDecoder.Event {
        try buffer.withSpan { bytes throws(HTTP1Error) in try decoder.next(bytes) }
    }

    private func readMore() async throws {
        let started = loop.now
        defer { pace.waited(from: started, to: loop.now) }
        let idle = loop.deadline(after: idleTimeout)
        let slowest = pace.deadline(after: bytesIn, now: started)
        do throws(IOError) {
            let count = try await socket.read(
                into: buffer,
                minimum: Slab.standardCapacity,
                until: min(idle, slowest)
            )
            guard count == 0 else { return }
            throw IOError.closedByPeer
        } catch {
            switch error {
            case .timedOut where slowest < idle:
                throw NetworkError(
                    .requestBodyTimeout,
                    side: .downstream,
                    detail: "the request body arrives too slowly; see limits.body_rate"
                )
            case .timedOut:
                throw NetworkError(
                    .connectionReadTimeout,
                    side: .downstream,
                    detail: "the request body stopped arriving",
                    status: 408
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
}
