import NetproxyBytes
import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath

/// The clients that can reach the admin socket.
enum AdminReach: Sendable {
    /// Users with permission to connect to a unix socket: root, the daemon's user and its group.
    case unixSocket
    /// Every user of this machine, and every web page that a user visits.
    case tcp

    /// The limits for clients.
    ///
    /// No request needs content. Every user can connect to a TCP port; such a user must not be able to
    /// exhaust the daemon's memory or descriptors, or disturb the responses to others.
    fileprivate var rules: LocalServer.Rules {
        var rules = LocalServer.Rules()
        rules.bodyLimit = 4 << 10
        guard self == .tcp else { return rules }
        rules.connections = 64
        rules.descriptors = .unreserved
        rules.bounds = DownstreamLimits(
            limits: HTTP1Limits(),
            headTimeout: .seconds(5),
            bodyRate: 1 << 10,
            keepAlive: 5_000_000_000
        )
        return rules
    }
}

extension Daemon {
    /// Creates a daemon that does not listen yet.
    package init(_ configuration: ProxyConfiguration, _ setup: DaemonSetup) {
        self.init(configuration, setup, openAdmin: AdminServer.open)
    }
}

/// The servers of the admin interface.
enum AdminServer {
    /// Listens at an address; `localhost` may be two sockets.
    ///
    /// - Throws: an error that names the address or the directory.
    static func open(
        _ address: AdminAddress,
        on loop: EventLoop,
        daemon: Daemon
    ) async throws -> [AdminSocket] {
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
        var sockets: [AdminSocket] = []
        for socket in opened {
            sockets.append(try await serve(socket, reach, on: loop, daemon: daemon))
        }
        return sockets
    }

    private static func serve(
        _ socket: SharedSocket,
        _ reach: AdminReach,
        on loop: EventLoop,
        daemon: Daemon
    ) async throws -> AdminSocket {
        let handler = AdminHandler(reach: reach, daemon: daemon)
        var rules = reach.rules
        rules.judge = { handler.refusal(of: $0) }
        let opened = await loop.call { [rules] loop in
            Result<LocalServer, any Error> {
                try LocalServer(socket.socket, on: loop, rules: rules) { await handler.answer($0) }
            }
        }
        let server = try await opened.unwrapped()
        return AdminSocket(socket: socket) {
            await server.wait(atMost: .seconds(1)) { $0.drain($1) }
            await server.call { $0.close() }
        }
    }
}
