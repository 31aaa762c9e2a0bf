package import NetproxyEventIO

/// A port of this machine that does not respond: its queue is full, and the kernel drops packets.
///
/// The port is closed by `deinit`.
package final class SilentPort: Sendable {
    /// The address to which connections hang.
    package let address: SocketAddress
    private let socket: ListeningSocket
    private let queued: LoopBound<StreamSocket>

    /// Listens without ever accepting, and fills the queue.
    package init() async throws {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw WireError.ended }
        let socket = try ListeningSocket(address, backlog: 0)
        let (loop, port) = (try TestLoop.shared(), socket.address)
        queued = try await Task(executorPreference: loop) {
            let deadline = loop.deadline(after: Wire.patience)
            let queued = try await Dialer.connect(to: port, on: loop, until: deadline)
            return LoopBound(queued, on: loop)
        }.value
        self.address = port
        self.socket = socket
    }

    deinit {
        let queued = queued
        queued.loop.submit { queued.value.close() }
    }
}
