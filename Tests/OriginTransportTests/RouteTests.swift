import Foundation
import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetworkClient
import NetworkCore
import TestSupport
import Testing

@testable import OriginTransport

/// Tests of routes to an origin other than a direct connection.
@Suite struct RouteTests {
    private func get(
        _ url: String,
        _ change: (inout UpstreamOptions) throws -> Void
    ) async throws -> WholeResponse {
        var options = UpstreamOptions()
        try change(&options)
        let channel = NetworkChannel(transport: try PooledTransport(options: options))
        return try await NetworkManager<PathEndpoint>(channel).perform(Request(url: url))
    }

    // MARK: - Unix sockets

    @Test func `a request is sent over a unix socket`() async throws {
        try await DaemonHarness.run(
            channels: "a: { upstream: 'http://127.0.0.1:1' }",
            root: "admin: \"unix:DIRECTORY/admin.sock\""
        ) { proxy async throws in
            let path = "\(proxy.directory)/admin.sock"
            let response = try await get("http://localhost/status") { $0.unixSocket = path }
            #expect(response.status == 200)
            #expect(response.context.upstreamAddress == "unix:\(path)")
        }
    }

    @Test(arguments: [nil, "/run/a.sock"])
    func `proxy syntax is used only if the connection goes to the proxy`(path: String?) throws {
        var options = UpstreamOptions()
        options.unixSocket = path
        options.proxy = try ParentProxy(
            host: "proxy.test",
            port: 1,
            username: "me",
            password: Secret("c4nary")
        )
        let request = try Request(url: "http://a.test/x")
        let output = OutputBuffer()
        UpstreamPeer(request.origin, options, serving: .callers)
            .encodeHead(of: request, .none, into: output)
        let head = String(decoding: output.span.array, as: UTF8.self)
        #expect(head.hasPrefix("GET /x HTTP/1.1\r\n") == (path != nil))
        #expect(head.contains("Proxy-Authorization") == (path == nil))
    }

    @Test func `the error of a missing or invalid unix socket names it`()
        async throws
    {
        let missing = await #expect(throws: NetworkError.self) {
            try await get("http://a.test/") { $0.unixSocket = "/nowhere/a.sock" }
        }
        #expect(missing?.detail.contains("the unix socket /nowhere/a.sock") == true)
        for path in ["", String(repeating: "a", count: 108)] {
            var options = UpstreamOptions()
            options.unixSocket = path
            #expect(throws: NetworkError.self) { try PooledTransport(options: options) }
        }
    }

    // MARK: - SOCKS5

    /// Starts a proxy that expects bytes and responds to them, step by step, and then acts as the origin.
    private func socks(_ steps: [(String, [UInt8])]) async throws -> OriginServer {
        try await OriginServer.start { wire in
            for (expected, answer) in steps {
                #expect(try await wire.read(through: expected) == expected)
                try await wire.send(answer)
            }
            guard try await wire.next() != nil else { return }
            try await wire.send(Raw.ok("done"))
        }
    }

    private static let connected: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

    @Test func `a SOCKS5 proxy receives the name of the origin`() async throws {
        let proxy = try await socks([
            ("\u{5}\u{1}\u{0}", [5, 0]),
            ("\u{5}\u{1}\u{0}\u{3}\u{6}a.test\u{0}P", Self.connected),
        ])
        let response = try await get("http://a.test/x") {
            $0.proxy = try .socks5(host: "127.0.0.1", port: UInt16(proxy.port))
        }
        #expect(response.text == "done")
        #expect(proxy.requests.first?.startLine == "GET /x HTTP/1.1")
    }

    @Test func `a SOCKS5 proxy receives a numeric address and an account`() async throws {
        let proxy = try await socks([
            ("\u{5}\u{2}\u{0}\u{2}", [5, 2]), ("\u{1}\u{2}me\u{3}pw!", [1, 0]),
            // Its address may be a name.
            (
                "\u{5}\u{1}\u{0}\u{1}\u{1}\u{2}\u{3}\u{4}\u{0}P",
                [5, 0, 0, 3, 3] + Array("abc".utf8) + [0, 80]
            ),
        ])
        let response = try await get("http://1.2.3.4/") {
            $0.proxy = try .socks5(
                host: "127.0.0.1",
                port: UInt16(proxy.port),
                username: "me",
                password: Secret("pw!")
            )
        }
        #expect(response.text == "done")
    }

    @Test(
        arguments: [
            ([[4, 0]], "does not speak SOCKS5"), ([[5, 0xFF]], "requires authentication"),
            ([[5, 2]], "asks for a way of authentication that was not offered"),
            (
                [[5, 0], [5, 5, 0, 1]],
                "does not connect to a.test: the connection was refused"
            ),
            ([[5, 0], [5, 0, 0, 9]], "sent a malformed reply"),
        ] as [([[UInt8]], String)]
    )
    func `the error of a SOCKS5 refusal contains the reason`(answers: [[UInt8]], reason: String)
        async throws
    {
        let requests = ["\u{5}\u{1}\u{0}", "\u{5}\u{1}\u{0}\u{3}\u{6}a.test\u{0}P"]
        let proxy = try await socks(Array(zip(requests, answers)))
        let error = await #expect(throws: NetworkError.self) {
            try await get("http://a.test/x") {
                $0.proxy = try .socks5(host: "127.0.0.1", port: UInt16(proxy.port))
            }
        }
        #expect(error?.kind == .destinationUnavailable)
        #expect(error?.detail == "the proxy 127.0.0.1:\(proxy.port) \(reason)")
    }

    @Test func `an account that does not fit SOCKS5 is refused`() {
        for (name, password) in [("", "a"), (String(repeating: "a", count: 256), "a")] {
            #expect(throws: NetworkError.self) {
                try ParentProxy.socks5(host: "p", username: name, password: Secret(password))
            }
        }
    }

    // MARK: - The environment

    @Test func `the environment's proxy is used except for its exceptions`() async throws {
        let proxy = try await OriginServer.start { Raw.ok($0.startLine) }
        let variables = [
            "http_proxy": "http://me:p%40ss@127.0.0.1:\(proxy.port)/", "no_proxy": "direct.test",
        ]
        let response = try await get("http://a.test/x") {
            $0.proxyEnvironment = try ProxyEnvironment(variables)
        }
        #expect(response.text == "GET http://a.test/x HTTP/1.1")
        #expect(proxy.requests.first?["Proxy-Authorization"] == "Basic bWU6cEBzcw==")
        await #expect(throws: NetworkError.self) {
            try await get("http://direct.test/") {
                $0.proxyEnvironment = try ProxyEnvironment(variables)
            }
        }
        let origin = try await OriginServer.start { Raw.ok($0.startLine) }
        let own = try await get("http://127.0.0.1:\(origin.port)/y") {
            $0.proxyEnvironment = try ProxyEnvironment(variables)
        }
        #expect(own.text == "GET /y HTTP/1.1")
        #expect(proxy.requests.count == 1)
    }

    @Test(
        arguments: [
            (["http_proxy": "p:3128"], "http://a.test", "p:3128"),
            (["http_proxy": "p"], "http://a.test", "p:80"),
            (["http_proxy": "p"], "https://a.test", nil),
            (["HTTP_PROXY": "p"], "http://a.test", nil),
            (["HTTPS_PROXY": "http://p:1"], "https://a.test", "p:1"),
            (["https_proxy": "", "HTTPS_PROXY": "p:1"], "https://a.test", nil),
            (["all_proxy": "socks5h://p"], "https://a.test", "p:1080"),
            (["all_proxy": "q", "http_proxy": "p:1"], "http://a.test", "p:1"),
            (["all_proxy": "p", "NO_PROXY": "*"], "http://a.test", nil),
            (["all_proxy": "p", "no_proxy": "b.test, .a.test"], "http://x.a.test", nil),
            (["all_proxy": "p", "no_proxy": "a.test"], "http://A.test", nil),
            (["all_proxy": "p", "no_proxy": "a.test"], "http://ba.test", "p:80"),
            (["all_proxy": "p", "no_proxy": "a.test:8080"], "http://a.test", "p:80"),
            (["all_proxy": "p", "no_proxy": "a.test:80"], "http://a.test", nil),
            (["all_proxy": "p", "no_proxy": "10.0.0.0/8"], "http://10.1.2.3", nil),
            (["all_proxy": "p", "no_proxy": "10.0.0.0/8"], "http://11.1.2.3", "p:80"),
            (["all_proxy": "p", "no_proxy": "[2001:db8::1]"], "http://[2001:db8::1]", nil),
            (["all_proxy": "p"], "http://localhost", nil),
        ] as [([String: String], String, String?)]
    )
    func `variables are parsed like curl parses them`(
        variables: [String: String],
        url: String,
        proxy: String?
    ) throws {
        let found = try ProxyEnvironment(variables).proxy(for: Request(url: url).origin)
        #expect(found.map { "\($0.host):\($0.port)" } == proxy)
    }

    @Test(arguments: ["https://p:1", "http://", "p:99999", "ftp://p", "a b"])
    func `the error of an invalid proxy does not contain its text`(text: String) {
        let error = #expect(throws: NetworkError.self) {
            try ProxyEnvironment(["http_proxy": "\(text)"])
        }
        #expect(error?.detail.hasPrefix("http_proxy: expected ") == true)
    }

    // MARK: - PEM from memory

    @Test func `certificates and keys may be PEM text`() async throws {
        let certificate = try SelfSignedCertificate(names: "IP:127.0.0.1")
        let server = try TLSServer(certificate)
        let text = try String(contentsOfFile: certificate.file, encoding: .utf8)
        let url = "https://\(server.address)/"
        let unknown = await #expect(throws: NetworkError.self) { try await get(url) { _ in } }
        #expect(unknown?.kind == .tlsCertificateError)
        // It echoes the request, which is not a valid response.
        let echo = await #expect(throws: NetworkError.self) {
            try await get(url) {
                $0.authorities = text
                ($0.certificate, $0.certificateKey) = (text, text)
            }
        }
        #expect(echo?.kind == .httpProtocolError)
    }

    @Test(arguments: [
        (UpstreamOptions.HTTPVersions.http2, ErrorKind.tlsProtocolError),
        (.http2PriorKnowledge, .httpProtocolError),
    ])
    func `only prior knowledge speaks HTTP/2 to a server without ALPN`(
        versions: UpstreamOptions.HTTPVersions,
        kind: ErrorKind
    ) async throws {
        let certificate = try SelfSignedCertificate(names: "IP:127.0.0.1")
        let server = try TLSServer(certificate)
        // It echoes the preface, which is not a valid response.
        let error = await #expect(throws: NetworkError.self) {
            try await get("https://\(server.address)/") {
                $0.authorities = certificate.file
                $0.versions = versions
            }
        }
        #expect(error?.kind == kind)
        #expect(error?.detail.contains("http2PriorKnowledge") == (versions == .http2))
    }

    @Test func `the error of unusable PEM text does not contain it`() throws {
        let certificate = try SelfSignedCertificate(names: "IP:127.0.0.1")
        let text = try String(contentsOfFile: certificate.file, encoding: .utf8)
        let other = try SelfSignedCertificate(names: "IP:127.0.0.1")
        let wrong = try String(contentsOfFile: other.file, encoding: .utf8)
        let broken = "-----BEGIN CERTIFICATE-----\nc4nary\n-----END CERTIFICATE-----\n"
        let changes: [(inout UpstreamOptions) -> Void] = [
            { $0.authorities = broken },
            { ($0.certificate, $0.certificateKey) = (broken, text) },
            { ($0.certificate, $0.certificateKey) = (text, broken) },
            { ($0.certificate, $0.certificateKey) = (text, wrong) },
        ]
        for change in changes {
            var options = UpstreamOptions()
            change(&options)
            let error = #expect(throws: NetworkError.self) { try PooledTransport(options: options) }
            #expect(
                error?.detail.contains("that was given cannot be used") == true
                    || error?.detail.contains("that were given") == true
            )
            #expect(error?.detail.contains("c4nary") == false)
        }
    }

    // MARK: - Shutdown

    @Test func `a shutdown finishes open exchanges and refuses new ones`() async throws {
        let gate = Gate()
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                if request.startLine.contains("/slow") { try await gate.wait() }
                try await wire.send(Raw.ok("done"))
            }
        }
        let transport = try PooledTransport()
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: transport))
        let base = "http://127.0.0.1:\(origin.port)"
        _ = try await manager.perform(Request(url: "\(base)/quick"))
        async let slow = manager.perform(Request(url: "\(base)/slow"))
        while origin.requests.count < 2 { await Task.yield() }
        #expect(await transport.shutdown(within: .milliseconds(1)) == false)
        let late = try Request(url: "\(base)/late")
        let refused = await #expect(throws: NetworkError.self) { try await manager.perform(late) }
        #expect(refused?.detail.contains("was shut down") == true)
        gate.open()
        #expect(try await slow.text == "done")
        #expect(await transport.shutdown())
        #expect(await transport.shutdown())
        #expect(origin.requests.count == 2)
    }

    @Test func `a shutdown waits for the end of a body`() async throws {
        let origin = try await OriginServer.start { wire in
            guard try await wire.next() != nil else { return }
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            _ = try await wire.read(through: "never")
        }
        let transport = try PooledTransport()
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: transport))
        let stream = try await manager.stream(Request(url: "http://127.0.0.1:\(origin.port)/"))
        #expect(await transport.shutdown(within: .milliseconds(1)) == false)
        stream.cancel()
        #expect(await transport.shutdown())
    }

    @Test func `a transport without requests shuts down immediately`() async throws {
        let transport = try PooledTransport()
        #expect(await transport.shutdown())
    }
}
