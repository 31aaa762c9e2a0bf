package import NetproxyChannels
import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTPMessage
package import NetproxyPath
import NetproxyService
import NetworkCore
import OriginTransport

/// netproxy with everything around it, in one process: an API that wants tokens, an authorization
/// server that issues them, and the proxy.
package actor Demo {
    private let loop: EventLoop
    private let authorizationServer: DemoAuthorizationServer
    private let upstream: DemoUpstream
    private var server: LoopBound<LocalServer>?
    private let directory: DemoDirectory
    private let daemon: Daemon
    private let draft: DemoConfiguration

    /// Where a demo is reached.
    package struct Address: Sendable {
        /// The proxy.
        package let proxy: SocketAddress
        /// The admin page, on a TCP port.
        package let page: SocketAddress
        /// The configuration that the proxy runs with, as a user would write it.
        package let configuration: String
    }

    /// Starts the API and the authorization server, and prepares the proxy.
    ///
    /// - Parameters:
    ///   - port: where the proxy listens; 0 lets the system choose.
    ///   - page: where the admin page is; a port that is taken is replaced by any other.
    ///   - directory: where it keeps its files; removed at its end.
    ///   - console: whether each exchange is printed.
    ///   - report: gets what concerns the proxy itself.
    /// - Throws: an error that says what could not be started.
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

    /// Starts the proxy, and lets commands find it.
    ///
    /// - Parameter handlesSignals: whether SIGINT and SIGTERM end it.
    /// - Returns: where it is reached.
    /// - Throws: an error that says what could not be started.
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

    /// Returns when a signal has ended it; what it wrote is removed.
    package func waitUntilStopped() async {
        await daemon.waitUntilStopped()
        await cleanUp()
    }

    /// Ends it.
    package func stop() async {
        await daemon.stop()
        await cleanUp()
    }

    /// Ends every access token, as an operator of the API might.
    func revokeTokens() { authorizationServer.revokeAll() }
    /// What arrived at the API.
    var upstreamLog: [String] { upstream.log }
    /// The grants that the authorization server was asked for.
    var tokenRequests: [String] { authorizationServer.requests }

    private func cleanUp() async {
        await server?.call { $0.close() }
        server = nil
        loop.stop()
        directory.remove()
    }

    private static func serve(
        on loop: EventLoop,
        answer: @escaping LocalServer.Answer
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

/// The configuration of a demo's proxy.
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
