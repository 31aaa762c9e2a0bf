import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetworkCore

/// The content of answers and of requests.
extension HTTP2Connection {
    /// The next piece of the response's content; `nil` after the last.
    func nextPiece(of exchange: HTTP2Exchange) async throws -> ByteSlice? {
        do {
            guard exchange.bodyLimit == .max || loop.now < exchange.bodyLimit else {
                throw IOError.timedOut
            }
            while true {
                if let piece = exchange.takePiece() { return piece }
                if exchange.isEnded {
                    finish(exchange)
                    return nil
                }
                if let failure = exchange.failure {
                    throw error(of: failure, on: exchange, .readingBody)
                }
                try await waitForContent(exchange)
            }
        } catch {
            let fault = exchange.upload?.fault
            abandon(exchange, .cancel)
            if let fault { throw fault }
            switch error {
            case _ where exchange.bodyLimit <= loop.now:
                throw NetworkError.timeout(.total, after: exchange.bodySetting)
            case let error as IOError: throw peer.error(error, in: .readingBody)
            case let refusal as HTTP2Refusal: throw refusal.error
            default: throw error
            }
        }
    }

    /// An origin may be silent while it takes an upload, which has its own deadlines.
    private func waitForContent(_ exchange: HTTP2Exchange) async throws(IOError) {
        while true {
            do throws(IOError) {
                return try await exchange.wait(
                    until: min(
                        loop.deadline(after: peer.options.idleTimeout),
                        exchange.bodyLimit
                    )
                )
            } catch {
                guard error == .timedOut, exchange.upload?.isRunning ?? false,
                    loop.now < exchange.bodyLimit
                else { throw error }
            }
        }
    }

    /// Content that takes no wait, or `nil`.
    func piece(of exchange: HTTP2Exchange) -> ByteSlice? {
        guard exchange.bodyLimit == .max || loop.now < exchange.bodyLimit else { return nil }
        return exchange.takePiece()
    }

    /// The reader of the content does not want the rest.
    func cancelBody(of exchange: HTTP2Exchange) { abandon(exchange, .cancel) }

    func consumed(_ count: Int, on stream: Int32) {
        session.consumed(count, on: stream)
        wire.flushSoon()
    }

    func growWindow(of stream: Int32) -> Int {
        let size = session.growWindow(of: stream)
        wire.flushSoon()
        return size
    }

    func send(_ piece: ByteSlice, on exchange: HTTP2Exchange) throws {
        var isLast = false
        if let left = exchange.announced {
            guard piece.count <= left else { throw BodyWriter.LengthMismatch() }
            exchange.announced = left - piece.count
            isLast = piece.count == left
        }
        session.send(piece, on: exchange.id)
        // With the last bytes: in a window that they have used up, there would be no room for it.
        if isLast { session.end(exchange.id) }
        wire.flushSoon()
    }

    func endContent(on exchange: HTTP2Exchange) throws {
        guard exchange.announced ?? 0 == 0 else { throw BodyWriter.LengthMismatch() }
        session.end(exchange.id)
        wire.flushSoon()
    }
}
