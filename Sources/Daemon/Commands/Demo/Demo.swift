package import NetproxyChannels
import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTPMessage
package import NetproxyPath
import NetproxyService
import NetworkCore
import OriginTransport

/// A demonstration in one process: an API that requires tokens, an authorization server that issues them, and
/// the proxy.
package actor Demo {
    private let loop: EventLoop
    private let authorizationServer: DemoAuthorizationServer
    private let upstream: DemoUpstream
    private var server: LoopBound<LocalServer>?
    private let directory: DemoDirectory
    private let daemon: Daemon
    private let draft: DemoConfiguration

    /// The addresses of a running demo.
    package struct Address: Sendable {
        /// The proxy.
        package let proxy: SocketAddress
        /// The admin page, on a TCP port.
        package let page: SocketAddress
        /// The configuration of the proxy, as a user would write it.
        package let configuration: String
    }

    /// Starts the API and the authorization server, and prepares the proxy.
    ///
    /// - Parameters:
    ///   - port: the port of the proxy; 0 lets the system choose.
    ///   - page: the port of the admin page; if it is in use, the system chooses another.
    ///   - directory: the directory for the demo's files, removed at the end.
    ///   - console: whether each exchange is printed.
    ///   - report: receives messages about the proxy itself.
    /// - Throws: an error that names the part that could not be started.
    package init(
        port: UInt16,
        page: UInt16 = 0,
        in directory: DemoDirectory,
        console: ConsoleStyle,
        report: @escaping OperatorReport
    ) async throws {
        self.directory = directory
        do {
            let authorization = DemoAuthorizationServer(lifetime: .seconds(60))
            let upstream = DemoUpstream(authorization)
            (authorizationServer, self.upstream) = (authorization, upstream)
            loop = try EventLoop(index: 99)
            try loop.start()
            let started = try await Demo.serve(on: loop) { call in
                call.path.hasPrefix("/oauth/")
                    ? authorization.answer(call) : upstream.answer(call)
            }
            server = started.server
            draft = DemoConfiguration(
                port: port,
                page: Demo.isFree(page) && page != port ? page : 0,
                origin: "http://127.0.0.1:\(started.port)",
                directory: directory.path,
                server: authorization
            )
            let loaded = draft.loaded
            var setup = DaemonSetup(report: report, readConfiguration: { loaded })
            setup.console = console
            daemon = Daemon(try loaded.get(), setup)
        } catch {
            directory.remove()
            throw error
        }
    }

    /// Starts the proxy and publishes its configuration for commands.
    ///
    /// - Parameter handlesSignals: whether SIGINT and SIGTERM stop the demo.
    /// - Returns: the addresses of the demo.
    /// - Throws: an error that names the part that could not be started.
    package func start(handlesSignals: Bool) async throws -> Address {
        do {
            try await daemon.start(handlesSignals: handlesSignals)
            let pages = await daemon.adminAddresses.filter { !$0.isUnix }
            guard let proxy = await daemon.addresses.first, let page = pages.first else {
                throw IOError.system("the demo does not listen")
            }
            var actual = draft
            actual.port = proxy.port ?? 0
            actual.page = page.port ?? 0
            try directory.publish(actual.text)
            return Address(proxy: proxy, page: page, configuration: actual.text)
        } catch {
            await daemon.stop()
            await cleanUp()
            throw error
        }
    }

    /// Waits until a signal stops the demo, then removes its files.
    package func waitUntilStopped() async {
        await daemon.waitUntilStopped()
        await cleanUp()
    }

    /// Stops the demo and removes its files.
    package func stop() async {
        await daemon.stop()
        await cleanUp()
    }

    /// Invalidates every access token, as an operator of the API might.
    func revokeTokens() { authorizationServer.revokeAll() }
    /// The requests that arrived at the API.
    var upstreamLog: [String] { upstream.log }
    /// The grants in the requests to the authorization server.
    var tokenRequests: [String] { authorizationServer.requests }

    private func cleanUp() async {
        await server?.call { $0.close() }
        server = nil
        loop.stop()
        directory.remove()
    }

    private static func serve(
        on loop: EventLoop,
        answer: @escaping LocalServer.Responder
    ) async throws -> (server: LoopBound<LocalServer>, port: UInt16) {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else {
            throw IOError.system("127.0.0.1 is no address")
        }
        let socket = SharedSocket(try ListeningSocket(address))
        let server = await loop.call { loop in
            Result<LocalServer, any Error> {
                try LocalServer(socket.socket, on: loop, answer: answer)
            }
        }
        return (try await server.unwrapped(), socket.address.port ?? 0)
    }

    private static func isFree(_ port: UInt16) -> Bool {
        guard let address = SocketAddress(ip: "127.0.0.1", port: port) else { return false }
        do throws(IOError) {
            _ = try ListeningSocket(address)
            return true
        } catch {
            return false
        }
    }
}

/// The configuration of the demo's proxy.
private struct DemoConfiguration {
    var port: UInt16
    var page: UInt16
    private let origin: String
    private let directory: String
    private let server: DemoAuthorizationServer
    private let refreshToken: String

    init(
        port: UInt16,
        page: UInt16,
        origin: String,
        directory: String,
        server: DemoAuthorizationServer
    ) {
        (self.port, self.page, self.origin) = (port, page, origin)
        (self.directory, self.server) = (directory, server)
        refreshToken = server.issueRefreshToken()
    }

    var loaded: Result<ProxyConfiguration, ConfigurationErrors> {
        ConfigurationLoader.load(text: text, file: "demo.yaml", environment: [:])
    }

    var text: String {
        """
        listen: [127.0.0.1:\(port)]
        admin: ["unix:\(directory)/admin.sock", "127.0.0.1:\(page)"]
        state: \(directory)/state
        log: { directory: \(directory)/log }
        channels:
          orders:
            upstream: \(origin)/v1
            headers: { default: { X-Client: netproxy-demo, Accept-Language: en } }
            auth:
              oauth:
                grant: client_credentials
                token_url: \(origin)/oauth/token
                client_id: \(server.clientID)
                client_secret: literal:\(server.clientSecret)
          profile:
            upstream: \(origin)/v1
            auth:
              oauth:
                grant: refresh_token
                token_url: \(origin)/oauth/token
                client_id: \(server.clientID)
                client_secret: literal:\(server.clientSecret)
                refresh_token: literal:\(refreshToken)
          public:
            upstream: \(origin)/public

        """
    }
}
