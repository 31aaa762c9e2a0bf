import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore
import Synchronization

/// The content of a response, read from its connection.
///
/// A body belongs to one exchange and ends once the connection has begun another one. If the body is released
/// before its end, the connection closes.
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

    /// Returns the next piece; ends the exchange after the last one.
    func next() async throws -> ByteSlice? {
        let connection = connection.value
        guard exchange == connection.exchange, connection.body != nil else { return nil }
        do {
            // Buffered pieces set no timer, so the limit is checked here.
            guard connection.isInTime else { throw IOError.timedOut }
            while connection.body != nil {
                switch try connection.body?.next(from: connection.buffer) {
                case .piece(let piece): return piece
                case .needMore: try await read(from: connection)
                case .end:
                    if let trailers = connection.body?.trailers { end.withLock { $0 = trailers } }
                    connection.finish()
                case nil: break
                }
            }
            return nil
        } catch {
            throw fail(error, on: connection)
        }
    }

    private func read(from connection: UpstreamConnection) async throws {
        guard try await readSome(from: connection) == 0 else { return }
        do throws(HTTP1Error) {
            try connection.body?.endOfStream()
        } catch {
            throw IOError.closedByPeer
        }
        // The end of the connection delimits the content, so the exchange is complete.
        connection.finish()
    }

    /// Reads content; an origin may be silent while it receives an upload, because the upload has its own
    /// deadlines.
    private func readSome(from connection: UpstreamConnection) async throws(IOError) -> Int {
        let idle = connection.peer.options.idleTimeout
        while true {
            do throws(IOError) {
                let count = try await connection.read(
                    minimum: readSize(on: connection),
                    until: min(connection.loop.deadline(after: idle), connection.bodyLimit)
                )
                connection.lastReceived = connection.loop.now
                return count
            } catch {
                guard error == .timedOut, connection.isUploading, connection.isInTime else {
                    throw error
                }
            }
        }
    }

    /// The size of one read: TLS returns at most a record of 16 KiB.
    private func readSize(on connection: UpstreamConnection) -> Int {
        let isLong = (connection.body?.remaining ?? 0) > Slab.standardCapacity
        return isLong && !connection.socket.isEncrypted
            ? Slab.largeCapacity : Slab.standardCapacity
    }

    /// Closes the connection, and returns the error of the exchange.
    private func fail(_ error: any Error, on connection: UpstreamConnection) -> any Error {
        connection.body = nil
        connection.close()
        // The upload failed first, and closed the connection.
        if let fault = connection.upload?.fault { return fault }
        switch error {
        case _ where !connection.isInTime:
            return NetworkError.timeout(.total, after: connection.bodySetting)
        case let error as HTTP1Error:
            return FaultTable.error(error, from: connection.peer.origin.authority)
        case let error as IOError: return connection.fault(error, in: .readingBody)
        default: return error
        }
    }

    /// Returns the content in the buffer, or `nil`; `next` handles the end of the content and every error.
    func buffered() -> ByteSlice? { buffered(on: connection.value) }

    private func buffered(on connection: UpstreamConnection) -> ByteSlice? {
        guard !connection.buffer.isEmpty, let rest = unreadCount(on: connection),
            rest > connection.buffer.count,
            case .piece(let piece)? = try? connection.body?.next(from: connection.buffer)
        else { return nil }
        return piece
    }

    /// Returns the content in the buffer or, if it is empty, in the kernel; `nil` if there is neither.
    func pieceAtHand() -> ByteSlice? {
        let connection = connection.value
        if connection.buffer.isEmpty, let rest = unreadCount(on: connection), rest > 0 {
            _ = try? connection.socket.readNow(
                into: connection.buffer,
                minimum: readSize(on: connection)
            )
        }
        return buffered(on: connection)
    }

    /// Returns the length of the unread content, if it may be read.
    private func unreadCount(on connection: UpstreamConnection) -> Int? {
        guard exchange == connection.exchange, connection.isInTime else { return nil }
        return connection.body?.remaining
    }

    func trailers() -> HTTPHeaders? { end.withLock { $0 } }

    func cancel() {
        if connection.loop.isCurrent {
            connection.value.cancelBody(of: exchange)
        } else {
            let (connection, exchange) = (connection, exchange)
            connection.loop.submit { connection.value.cancelBody(of: exchange) }
        }
    }
}
