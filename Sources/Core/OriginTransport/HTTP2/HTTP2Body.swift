import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
import Synchronization

/// The streamed content of a response.
///
/// Releasing the body resets the stream unless the content was read to its end.
final class HTTP2Body: BodySource {
    private let exchange: LoopBound<HTTP2Exchange>
    private let end = Mutex<HTTPHeaders?>(nil)

    init(_ exchange: HTTP2Exchange) {
        self.exchange = LoopBound(exchange, on: exchange.loop)
    }

    deinit {
        cancel()
    }

    func next() async throws -> ByteSlice? {
        let exchange = exchange.value
        let piece = try await exchange.connection.nextPiece(of: exchange)
        if piece == nil, let trailers = exchange.trailers { end.withLock { $0 = trailers } }
        return piece
    }

    func buffered() -> ByteSlice? {
        let exchange = exchange.value
        return exchange.connection.piece(of: exchange)
    }

    func trailers() -> HTTPHeaders? { end.withLock { $0 } }

    func cancel() {
        let exchange = exchange
        if exchange.loop.isCurrent {
            exchange.value.connection.cancelBody(of: exchange.value)
        } else {
            exchange.loop.submit { exchange.value.connection.cancelBody(of: exchange.value) }
        }
    }
}
