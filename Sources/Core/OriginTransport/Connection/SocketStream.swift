package import NetproxyBytes
package import NetproxyEventIO
package import NetworkCore

/// One end of a tunnel: a connection without HTTP, and the bytes already read from it.
package final class SocketStream: DuplexStream {
    /// The parts that belong to the loop.
    private final class Parts {
        let socket: StreamSocket
        let idleTimeout: Duration?
        let onClose: () -> Void
        let buffer: ReadBuffer

        init(
            _ socket: StreamSocket,
            _ buffer: ReadBuffer,
            _ idleTimeout: Duration?,
            _ onClose: @escaping () -> Void
        ) {
            self.socket = socket
            self.buffer = buffer
            self.idleTimeout = idleTimeout
            self.onClose = onClose
        }
    }

    private let parts: LoopBound<Parts>
    private let side: NetworkError.Side

    /// Takes over a connection; must be called on the connection's loop.
    ///
    /// - Parameters:
    ///   - socket: the connection.
    ///   - buffer: the bytes already read from the connection.
    ///   - side: the side to which errors are attributed.
    ///   - idleTimeout: the longest wait for one byte to be read or written.
    ///   - onClose: called on the loop, possibly more than once, when the stream is closed or released.
    package init(
        _ socket: StreamSocket,
        buffer: ReadBuffer,
        side: NetworkError.Side,
        idleTimeout: Duration?,
        onClose: @escaping () -> Void
    ) {
        self.side = side
        parts = LoopBound(Parts(socket, buffer, idleTimeout, onClose), on: socket.loop)
    }

    deinit {
        close()
    }

    package func read() async throws -> ByteSlice? {
        let parts = parts.value
        let loop = parts.socket.loop
        if parts.buffer.isEmpty {
            // Release the slab before the wait, so that idle tunnels use no memory.
            parts.buffer.release(to: loop.slabs)
            do throws(IOError) {
                let deadline = loop.deadline(after: parts.idleTimeout)
                while try parts.socket.readNow(
                    into: parts.buffer,
                    minimum: Slab.standardCapacity
                ) == nil {
                    parts.buffer.release(to: loop.slabs)
                    try await parts.socket.waitReadable(until: deadline)
                }
            } catch {
                throw fault(error, .connectionReadTimeout)
            }
        }
        let count = parts.buffer.count
        return count == 0 ? nil : parts.buffer.take(count)
    }

    package func write(_ bytes: ByteSlice) async throws {
        let parts = parts.value
        let loop = parts.socket.loop
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        do throws(IOError) {
            try await parts.socket.write(output, bytes, idle: parts.idleTimeout)
        } catch {
            throw fault(error, .connectionWriteTimeout)
        }
    }

    package func finishWriting() {
        parts.value.socket.shutdownWriting()
    }

    package func close() {
        if parts.loop.isCurrent {
            parts.value.onClose()
        } else {
            let parts = parts
            parts.loop.submit { parts.value.onClose() }
        }
    }

    private func fault(_ error: IOError, _ timeout: ErrorKind) -> NetworkError {
        switch error {
        case .timedOut:
            NetworkError(timeout, side: side, detail: "the tunnel stood still for too long")
        case .aborted:
            NetworkError(.cancelled, side: side, detail: "the tunnel was closed")
        default:
            NetworkError(
                .connectionTerminated,
                side: side,
                detail: "the tunnel broke: \(error)"
            )
        }
    }
}
