import NetproxyEventIO
import Synchronization

/// A TCP server that runs a script for each connection.
///
/// It has its own port, which is closed by `deinit`.
package final class OriginServer: Sendable {
    /// The script of a connection, which is closed at the end of the script, and reset if it throws.
    package typealias Script = @Sendable (Wire) async throws -> Void

    /// The port on which it listens.
    package let port: Int
    private let acceptor: LoopBound<OriginAcceptor>
    private let accepted: Accepted

    private init(_ acceptor: LoopBound<OriginAcceptor>, _ accepted: Accepted, port: Int) {
        self.acceptor = acceptor
        self.accepted = accepted
        self.port = port
    }

    deinit {
        stop()
    }

    /// Starts a server that runs `script` for each connection.
    ///
    /// A server that is shut and reopened needs its own address `ip`, so that no other server can use its
    /// port in between.
    package static func start(
        at ip: String = "127.0.0.1",
        _ script: @escaping Script
    ) async throws -> OriginServer {
        let loop = try TestLoop.shared()
        let accepted = Accepted()
        let acceptor = await loop.call { OriginAcceptor(on: $0, at: ip, accepted, script) }
        let port = await acceptor.call { $0.port }
        guard let port else { throw WireError.ended }
        return OriginServer(acceptor, accepted, port: port)
    }

    /// Starts a server that responds to each request with raw bytes and keeps connections open.
    package static func start(
        answering answer: @escaping @Sendable (RawMessage) -> String
    ) async throws -> OriginServer {
        try await start { wire in
            while let request = try await wire.next() { try await wire.send(answer(request)) }
        }
    }

    /// The connections so far, in order.
    package var connections: [Wire] { accepted.wires.withLock { $0 } }

    /// The complete requests received by scripts so far, by connection.
    package var requests: [RawMessage] { connections.flatMap(\.messages) }

    /// Closes all connections and refuses new ones until it is reopened.
    package func shut() async throws {
        await acceptor.call { $0.close() }
        for wire in connections { try await wire.close() }
    }

    /// Accepts connections again, on the same port.
    package func reopen() async {
        let port = UInt16(port)
        await acceptor.call { $0.open(port) }
    }

    /// Stops accepting connections.
    package func stop() {
        let acceptor = acceptor
        acceptor.loop.submit { acceptor.value.close() }
    }
}

/// The connections of one origin.
private final class Accepted: Sendable {
    let wires = Mutex<[Wire]>([])
}

/// The part of an origin that stays on its loop.
private final class OriginAcceptor {
    private var listener: Listener?
    private let loop: EventLoop
    private let ip: String
    private let accepted: Accepted
    private let script: OriginServer.Script

    init(
        on loop: EventLoop,
        at ip: String,
        _ accepted: Accepted,
        _ script: @escaping OriginServer.Script
    ) {
        (self.loop, self.ip, self.accepted, self.script) = (loop, ip, accepted, script)
        open(0)
    }

    func open(_ port: UInt16) {
        close()
        guard let address = SocketAddress(ip: ip, port: port) else { return }
        let (loop, accepted, script) = (loop, accepted, script)
        do throws(IOError) {
            let socket = try ListeningSocket(address)
            listener = try Listener(socket, on: loop) { socket in
                let wire = accepted.wires.withLock { wires in
                    let stream = LoopBound(WireStream(socket), on: loop)
                    let wire = Wire(stream, number: wires.count)
                    wires.append(wire)
                    return wire
                }
                // The script runs in a task on the loop, so that work of other tests on the shared threads
                // does not delay it.
                Task(executorPreference: loop) {
                    defer { wire.closed.open() }
                    do {
                        try await script(wire)
                        try await wire.close()
                    } catch {
                        try await wire.reset()
                    }
                }
            }
        } catch {
            listener = nil
        }
    }

    var port: Int? { listener?.address.port.map(Int.init) }

    func close() {
        listener?.close()
        listener = nil
    }
}
