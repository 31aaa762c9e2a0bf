package import EventIO
import FoundationEssentials
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import System

/// netproxy with everything around it, in one process: an API that wants tokens, an authorization
/// server that issues them, and the proxy.
package actor Demo {
    private let loop: EventLoop
    private let authorizationServer = DemoAuthorizationServer(lifetime: .seconds(60))
    private let upstream: DemoUpstream
    private var server: LoopBound<LocalServer>?
    private let directory: String
    private let daemon: Daemon
    /// The configuration that the proxy runs with, as a user would write it.
    package nonisolated let configurationText: String

    /// Starts the API and the authorization server, and prepares the proxy.
    ///
    /// - Parameters:
    ///   - port: where the proxy listens; 0 lets the system choose.
    ///   - console: whether each exchange is printed.
    ///   - report: gets what concerns the proxy itself.
    /// - Throws: an error that says what could not be started.
    package init(
        port: UInt16,
        console: ConsoleStyle,
        report: @escaping OperatorReport
    ) async throws {
        directory =
            FileManager.default.temporaryDirectory.path
            + "/netproxy-demo-\(ProcessInfo.processInfo.processIdentifier)-\(Int.random(in: 0..<1 << 30))"
        try FileSystem.makeDirectory(directory, mode: 0o700)
        loop = try EventLoop(index: 99)
        try loop.start()
        let upstream = DemoUpstream(authorizationServer)
        self.upstream = upstream
        let authorization = authorizationServer
        let started = try await Demo.serve(on: loop) { call in
            call.path.hasPrefix("/oauth/")
                ? authorization.answer(call) : upstream.answer(call)
        }
        server = started.server
        let origin = "http://127.0.0.1:\(started.port)"
        let text = Demo.configuration(
            port: port,
            origin: origin,
            directory: directory,
            server: authorizationServer
        )
        configurationText = text
        let loaded = ConfigurationLoader.load(text: text, file: "demo.yaml", environment: [:])
        var setup = DaemonSetup(report: report, readConfiguration: { loaded })
        setup.console = console
        daemon = Daemon(try loaded.get(), setup)
    }

    /// Starts the proxy.
    ///
    /// - Parameter handlesSignals: whether SIGINT and SIGTERM end it.
    /// - Returns: where it listens.
    /// - Throws: an error that says what could not be started.
    package func start(handlesSignals: Bool) async throws -> SocketAddress {
        do {
            try await daemon.start(handlesSignals: handlesSignals)
        } catch {
            await cleanUp()
            throw error
        }
        guard let address = await daemon.addresses.first else {
            throw IOError.system("the demo does not listen")
        }
        return address
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
        // Only a directory that this process made.
        try? FileManager.default.removeItem(atPath: directory)
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

    private static func configuration(
        port: UInt16,
        origin: String,
        directory: String,
        server: DemoAuthorizationServer
    ) -> String {
        """
        listen: [127.0.0.1:\(port)]
        admin: off
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
                refresh_token: literal:\(server.issueRefreshToken())
          public:
            upstream: \(origin)/public

        """
    }
}
