import NetproxyConfig
import NetproxyEventIO
import NetworkCore
import OriginTransport
import TestSupport
import Testing

@testable import NetproxyPath

/// The destinations of requests that no channel claims.
@Suite struct ForwardProxyTests {
    @Test(
        arguments: [
            ("metadata.internal", .anyButLink), ("10.0.0.1", .any), ("169.254.169.254", .any),
            ("a.example.com", .world), ("evilexample.com", nil), ("example.com", nil),
            ("10.0.0.2", nil),
        ] as [(String, DestinationPolicy?)]
    )
    func `a pattern without a wildcard allows more addresses`(
        host: String,
        policy: DestinationPolicy?
    ) throws {
        let hosts = ["metadata.internal", "10.0.0.1", "169.254.169.254", "*.example.com"]
        let patterns = hosts.map { "'\($0):443'" }
        let configuration = try ConfigurationLoader.load(
            text: """
                connect: [\(patterns.joined(separator: ", "))]
                channels: { orders: { upstream: https://a.example } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let settings = ForwardProxy.Settings(
            unmatched: .deny,
            connect: configuration.connect,
            destinations: .world
        )
        let proxy = ForwardProxy(settings, on: try TestLoop.shared())
        #expect(proxy.policy(for: host, 443) == policy)
        #expect(proxy.policy(for: host, 80) == nil)
    }

    @Test func `the pool of a new host replaces idle pools`() async throws {
        let settings = ForwardProxy.Settings(unmatched: .forward, connect: [], destinations: .any)
        let loop = try TestLoop.shared()
        let kinds = await Task(executorPreference: loop) {
            let proxy = ForwardProxy(settings, on: loop)
            var kinds: Set<ErrorKind?> = []
            // One more than the maximum; nothing listens on any of them.
            for number in 1...257 {
                let host = "127.0.\(number / 256).\(number % 256)"
                let origin = Origin(scheme: .http, host: host, port: UInt16(RefusingPort.any()))
                let request = Request(origin: origin, target: "/")
                var context = RequestContext()
                do {
                    _ = try await proxy.send(request, context: &context)
                } catch {
                    kinds.insert((error as? NetworkError)?.kind)
                }
            }
            return kinds
        }.value
        #expect(kinds == [.connectionRefused])
    }

    @Test(arguments: [
        ("127.0.0.1", true, false), ("169.254.169.254", false, false), ("10.0.0.1", true, false),
        ("192.0.2.1", false, false), ("1.1.1.1", true, true),
    ])
    func `a policy admits the addresses of its range`(
        address: String,
        anyButLink: Bool,
        world: Bool
    ) throws {
        let address = try #require(SocketAddress(ip: address, port: 80))
        #expect(DestinationPolicy.any.admits(address))
        #expect(DestinationPolicy.anyButLink.admits(address) == anyButLink)
        #expect(DestinationPolicy.world.admits(address) == world)
    }
}
