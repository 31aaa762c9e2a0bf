import EventIO
import OriginTransport
import ProxyConfig
import TestSupport
import Testing

@testable import ProxyDaemon

/// Where requests may lead that no channel claims.
@Suite struct ForwardProxyTests {
    @Test(
        arguments: [
            ("metadata.internal", .anyButLink), ("10.0.0.1", .any), ("169.254.169.254", .any),
            ("a.example.com", .world), ("evilexample.com", nil), ("example.com", nil),
            ("10.0.0.2", nil),
        ] as [(String, DestinationPolicy?)]
    )
    func `what a pattern spells out may be nearer than what it covers`(
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

    @Test(arguments: [
        ("127.0.0.1", true, false), ("169.254.169.254", false, false), ("10.0.0.1", true, false),
        ("192.0.2.1", false, false), ("1.1.1.1", true, true),
    ])
    func `a policy admits what is near enough`(
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
