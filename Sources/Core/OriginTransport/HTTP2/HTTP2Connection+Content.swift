import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetworkCore

/// The content of requests and responses.
extension HTTP2Connection {
    /// Returns the next piece of the response's content; `nil` after the last piece.
    func nextPiece(of exchange: HTTP2Exchange) async throws -> ByteSlice? {
        do {
            guard exchange.bodyLimit == .max || loop.now < exchange.bodyLimit else {
                throw IOError.timedOut
            }
            while true {
                if let piece = exchange.takePiece() { return piece }
                if exchange.isComplete {
                    finish(exchange)
                    return nil
                }
                if let error = error(of: exchange, .readingBody) { throw error }
                if exchange.stream.state.hasReceivedLength {
                    guard try await endsSoon(exchange) else { return nil }
                } else {
                    try await waitForContent(exchange)
                }
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

    /// Waits for the end of a response whose announced content has arrived, and for its trailers.
    ///
    /// Some origins end the stream late or never, and a client over HTTP/1 waits for the end before its next
    /// request. So netproxy ends the stream after a second.
    ///
    /// - Returns: whether the end has arrived in time.
    private func endsSoon(_ exchange: HTTP2Exchange) async throws(IOError) -> Bool {
        do throws(IOError) {
            let second = loop.deadline(after: .seconds(1))
            try await exchange.wait(until: min(second, exchange.bodyLimit))
            return true
        } catch {
            guard error == .timedOut, loop.now < exchange.bodyLimit else { throw error }
            abandon(exchange, .noError)
            return false
        }
    }

    /// Waits for content; an origin may be silent while it receives an upload, because the upload has its own
    /// deadlines.
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

    /// Returns the next piece of content if it has arrived.
    func piece(of exchange: HTTP2Exchange) -> ByteSlice? {
        guard exchange.bodyLimit == .max || loop.now < exchange.bodyLimit else { return nil }
        return exchange.takePiece()
    }

    /// Ends the exchange because the reader does not want the rest.
    func cancelBody(of exchange: HTTP2Exchange) { abandon(exchange, .cancel) }

    func send(_ piece: ByteSlice, on exchange: HTTP2Exchange) throws {
        guard exchange.stream.send(piece.count) == .send else { throw BodyWriter.LengthMismatch() }
        session.send(piece, on: exchange.id)
        // Send the end with the last bytes: if they use up the window, no room is left for it afterward.
        if exchange.stream.state.hasSentLength { try endContent(on: exchange) }
        wire.flushSoon()
    }

    func endContent(on exchange: HTTP2Exchange) throws {
        switch exchange.stream.state.sendEnd() {
        case .mismatch: throw BodyWriter.LengthMismatch()
        case .send: session.end(exchange.id)
        default: break
        }
        wire.flushSoon()
    }
}
