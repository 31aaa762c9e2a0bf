import EventIO
import Synchronization

/// A TCP server on a port of its own that does to each connection what a script says.
///
/// It closes when it goes away.
package final class OriginServer: Sendable {
    /// What to do with one connection, which is closed at its end, and reset if it throws.
    package typealias Script = @Sendable (Wire) async throws -> Void

    /// Where it listens.
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
    /// One that shuts and reopens has an address of this machine that no other server has: nobody takes
    /// its port meanwhile.
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

    /// Starts a server that answers each request with raw bytes and keeps connections open.
    package static func start(
        answering answer: @escaping @Sendable (RawMessage) -> String
    ) async throws -> OriginServer {
        try await start { wire in
            while let request = try await wire.next() { try await wire.send(answer(request)) }
        }
    }

    /// The connections so far, in the order in which they came.
    package var connections: [Wire] { accepted.wires.withLock { $0 } }

    /// The whole requests that scripts took so far, connection by connection.
    package var requests: [RawMessage] { connections.flatMap(\.messages) }

    /// Refuses connections, and closes those that there are, until it reopens.
    package func shut() async throws {
        await acceptor.call { $0.close() }
        for wire in connections { try await wire.close() }
    }

    /// Accepts connections again, on the same port.
    package func reopen() async {
        let port = UInt16(port)
        await acceptor.call { $0.open(port) }
    }

    /// Accepts no more.
    package func stop() {
        let acceptor = acceptor
        acceptor.loop.submit { acceptor.value.close() }
    }
}

/// The connections of one origin.
private final class Accepted: Sendable {
    let wires = Mutex<[Wire]>([])
}

/// The part of an origin that belongs to the loop.
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
                // One task plays the script of one connection, on the loop: no other test's work
                // on the shared threads holds an origin's answer up.
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
