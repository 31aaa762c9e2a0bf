import NetproxyBytes
import NetproxyEventIO
import Synchronization

/// The part of a `Wire` that stays on its loop.
final class WireStream {
    let socket: StreamSocket
    let arrived = Arrived()
    var unread: [UInt8] = []
    var end: Wire.End?
    private let buffer = ReadBuffer()

    init(_ socket: StreamSocket) {
        self.socket = socket
    }

    func write(_ bytes: [UInt8]) async throws {
        let output = OutputBuffer(capacity: bytes.count)
        output.append(bytes)
        try await socket.write(output, until: socket.loop.deadline(after: Wire.patience))
    }

    /// Reads the next bytes, or the end of the stream.
    func fill() async throws {
        do throws(IOError) {
            let count = try await socket.read(
                into: buffer,
                until: socket.loop.deadline(after: Wire.patience)
            )
            if count == 0 { end = .closed }
        } catch {
            switch error {
            case .closedByPeer: end = .reset
            case .timedOut: throw WireError.timedOut
            default: throw error
            }
        }
        let bytes = buffer.withSpan { $0.array }
        buffer.consume(buffer.count)
        unread += bytes
        arrived.bytes.withLock { $0 += bytes }
    }
}

/// The bytes received on a wire, readable from any thread.
final class Arrived: Sendable {
    let bytes = Mutex<[UInt8]>([])
}
