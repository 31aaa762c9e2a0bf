import NetproxyBytes
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage

/// Which clients can reach the admin socket.
enum AdminReach: Sendable {
    /// Users that have permission to connect to a unix socket: root, the daemon's user and its group.
    case unixSocket
    /// Every user of this machine, and every web page that one of them visits.
    case tcp

    /// How much clients may ask for.
    ///
    /// No request needs content. A port is open to users whom nothing may be taken from: neither
    /// memory nor descriptors, nor the answers of others.
    fileprivate var rules: LocalServer.Rules {
        var rules = LocalServer.Rules()
        rules.bodyLimit = 4 << 10
        guard self == .tcp else { return rules }
        rules.connections = 64
        rules.descriptors = .unreserved
        rules.bounds = DownstreamConnection.Bounds(
            limits: HTTP1Limits(),
            headTimeout: .seconds(5),
            bodyRate: 1 << 10,
            keepAlive: 5_000_000_000
        )
        return rules
    }
}

/// A socket of the admin interface, and the server that answers on it.
struct AdminServer: Sendable {
    private let server: LoopBound<LocalServer>
    private let socket: SharedSocket

    /// Listens at an address; `localhost` may be two sockets.
    ///
    /// - Throws: an error that names the address or the directory.
    static func open(
        _ address: AdminAddress,
        on loop: EventLoop,
        daemon: Daemon
    ) async throws -> [AdminServer] {
        let opened: [SharedSocket]
        let reach: AdminReach
        let none = InheritedSockets(descriptors: [:])
        switch address {
        case .tcp:
            reach = .tcp
            opened = try SharedSocket.open(address.listenAddress, none)
        case .unix(let path):
            reach = .unixSocket
            if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                try ConfiguredDirectory.make(String(path[..<slash]), mode: 0o750, for: "admin")
            }
            opened = try SharedSocket.open(address.listenAddress, none, mode: 0o660)
        }
        var servers: [AdminServer] = []
        for socket in opened {
            servers.append(try await AdminServer(socket, reach, on: loop, daemon: daemon))
        }
        return servers
    }

    private init(
        _ socket: SharedSocket,
        _ reach: AdminReach,
        on loop: EventLoop,
        daemon: Daemon
    ) async throws {
        self.socket = socket
        let handler = AdminHandler(reach: reach, daemon: daemon)
        var rules = reach.rules
        rules.judge = { handler.refusal(of: $0) }
        let server = await loop.call { [rules] loop in
            Result<LocalServer, any Error> {
                try LocalServer(socket.socket, on: loop, rules: rules) { await handler.answer($0) }
            }
        }
        self.server = try await server.unwrapped()
    }

    var address: SocketAddress { socket.address }

    /// Accepts no more, gives every reader a moment to see the end of its answer, and closes.
    func close() async {
        await server.wait(atMost: .seconds(1)) { $0.drain($1) }
        await server.call { $0.close() }
    }
}
