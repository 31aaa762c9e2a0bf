import EventIO
import ProxyConfig
import Testing

@testable import ProxyDaemon

/// The sockets that the daemon serves, and where clients find them.
@Suite struct ListenerSetTests {
    private func configuration(listen: String, _ match: String) throws -> ProxyConfiguration {
        try ConfigurationLoader.load(
            text: """
                listen: [\(listen)]
                allow_remote: true
                channels: { orders: { upstream: https://a.example, match: { \(match) } } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
    }

    private func open(_ configuration: ProxyConfiguration) throws -> ListenerSet {
        var set = ListenerSet(InheritedSockets(descriptors: [:]))
        for served in try set.open(configuration.listenPlaces) { set.add(served) }
        return set
    }

    @Test(arguments: [
        ("127.0.0.1:0", "path: /o", "/o"), ("127.0.0.1:0", "path: /o, strip: false", ""),
        ("127.0.0.1:0", "path: /", ""), ("0.0.0.0:0", "path: /o", "/o"),
    ])
    func `a channel's URL leads to a shared listener`(
        listen: String,
        match: String,
        path: String
    ) throws {
        let configuration = try configuration(listen: listen, match)
        let set = try open(configuration)
        let port = try #require(set.addresses.first?.port)
        #expect(set.localAddress(of: nil) == "127.0.0.1:\(port)")
        #expect(set.url(of: configuration.channels[0]) == "http://127.0.0.1:\(port)\(path)")
    }

    @Test func `a channel's own listener comes first`() throws {
        let configuration = try configuration(listen: "127.0.0.1:0", "listen: '127.0.0.1:0'")
        var set = try open(configuration)
        let port = try #require(set.addresses.last?.port)
        #expect(set.url(of: configuration.channels[0]) == "http://127.0.0.1:\(port)")
        set.remove(set.served[1])
        #expect(set.url(of: configuration.channels[0]) != "http://127.0.0.1:\(port)")
        set.removeAll()
        #expect(set.url(of: configuration.channels[0]) == nil)
    }

    @Test func `a socket keeps its number when another channel gets it`() throws {
        var set = try open(configuration(listen: "127.0.0.1:0", "listen: '127.0.0.1:0'"))
        let port = try #require(set.addresses.last?.port)
        let place = ListenPlace(
            address: .tcp(HostPort(host: "127.0.0.1", port: Int(port))),
            channel: "bills"
        )
        let plan = ListenerPlan(from: set.served, to: [set.served[0].place, place])
        #expect(plan.missing.isEmpty && plan.leaving.isEmpty)
        #expect(plan.moving.map(\.number) == [2])
        set.reassign(plan.moving)
        #expect(set.served.map(\.channel) == [nil, "bills"])
        #expect(set.served.map(\.number) == [1, 2])
    }
}
