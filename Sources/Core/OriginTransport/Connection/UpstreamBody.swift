import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
import Synchronization

/// The content of a response, as it comes from its connection.
///
/// Dropped unread, it closes it.
final class UpstreamBody: BodySource {
    private let connection: LoopBound<UpstreamConnection>
    private let exchange: Int
    private let end = Mutex<HTTPHeaders?>(nil)

    init(_ connection: LoopBound<UpstreamConnection>, exchange: Int) {
        self.connection = connection
        self.exchange = exchange
    }

    deinit {
        cancel()
    }

    func next() async throws -> ByteSlice? {
        try await connection.value.nextPiece(of: exchange, for: self)
    }

    func buffered() -> ByteSlice? { connection.value.piece(of: exchange) }

    /// The next piece, if it takes no wait.
    func pieceAtHand() -> ByteSlice? { connection.value.piece(of: exchange, orFromSocket: true) }

    func trailers() -> HTTPHeaders? { end.withLock { $0 } }

    func end(with trailers: HTTPHeaders?) {
        guard let trailers else { return }
        end.withLock { $0 = trailers }
    }

    func cancel() {
        if connection.loop.isCurrent {
            connection.value.cancelBody(of: exchange)
        } else {
            let (connection, exchange) = (connection, exchange)
            connection.loop.submit { connection.value.cancelBody(of: exchange) }
        }
    }
}
