import NetproxyEventIO
import TestSupport
import Testing

@Suite struct DialerTests {
    @Test func `connecting to a port without a listener throws refused`() async throws {
        let loop = try TestLoop.shared()
        let port = UInt16(RefusingPort.any())
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        await #expect(throws: IOError.refused) {
            try await Task(executorPreference: loop) {
                try await Dialer.connect(to: address, on: loop, until: .max).close()
            }.value
        }
    }

    @Test func `connecting to a unix socket without a file throws a system error`() async throws {
        let loop = try TestLoop.shared()
        let address = try #require(SocketAddress(unixPath: "/nonexistent/netproxy.sock"))
        await #expect(throws: IOError.self) {
            try await Task(executorPreference: loop) {
                try await Dialer.connect(to: address, on: loop, until: .max).close()
            }.value
        }
    }
}

@Suite struct ResolverTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80"), ("192.0.2.7", "192.0.2.7:80"),
    ])
    func `a numeric address resolves to itself`(text: String, printed: String) async throws {
        let loop = try TestLoop.shared()
        let found = try await Task(executorPreference: loop) {
            try await Resolver.shared.addresses(of: text, port: 80, on: loop, until: loop.now)
        }.value
        #expect(found.map(\.description) == [printed])
    }

    @Test func `localhost resolves to loopback addresses`() async throws {
        let loop = try TestLoop.shared()
        let found = try await Task(executorPreference: loop) {
            try await Resolver.shared.addresses(
                of: "localhost",
                port: 80,
                on: loop,
                until: loop.deadline(after: Wire.patience)
            )
        }.value
        #expect(!found.isEmpty)
        #expect(found.filter(\.isLoopback) == found)
    }
}
