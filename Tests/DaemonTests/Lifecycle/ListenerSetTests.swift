import NetproxyConfig
import NetproxyEventIO
import Testing

@testable import NetproxyService

/// The sockets of the daemon and their addresses for clients.
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
    func `a channel's URL points to a shared listener`(
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

    @Test func `a channel's URL prefers the channel's own listener`() throws {
        let configuration = try configuration(listen: "127.0.0.1:0", "listen: '127.0.0.1:0'")
        var set = try open(configuration)
        let port = try #require(set.addresses.last?.port)
        #expect(set.url(of: configuration.channels[0]) == "http://127.0.0.1:\(port)")
        set.remove(set.served[1])
        #expect(set.url(of: configuration.channels[0]) != "http://127.0.0.1:\(port)")
        set.removeAll()
        #expect(set.url(of: configuration.channels[0]) == nil)
    }

    @Test func `a socket keeps its number when its channel changes`() throws {
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

    @Test(arguments: [("127.0.0.1", "0.0.0.0"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "[::]")])
    func `an address and the wildcard address cannot be bound at the same time`(
        first: String,
        second: String
    )
        throws
    {
        let set = try open(configuration(listen: "'\(first):0'", "path: /o"))
        let port = Int(try #require(set.addresses.first?.port))
        func plan(_ listen: String...) throws -> ListenerPlan {
            ListenerPlan(
                from: set.served,
                to: listen.map { text in
                    let host = text.trimmingPrefix("[").prefix { $0 != "]" }
                    let address = ListenAddress.tcp(HostPort(host: String(host), port: port))
                    return ListenPlace(address: address, channel: nil)
                }
            )
        }
        let change = try plan(second)
        #expect(change.missing.isEmpty && change.leaving.count == 1)
        #expect(change.late.map { "\($0.address)" } == ["\(second):\(port)"])
        // Another address of the machine does not conflict.
        #expect(try plan("127.0.0.2").late.isEmpty == (first != "0.0.0.0"))
        // A listener that stays is not closed: the conflict is a configuration error.
        #expect(try plan(first, second).late.isEmpty)
    }

    private func places(_ listen: String, _ rest: String = "") throws -> [String] {
        try ConfigurationLoader.load(
            text: "listen: [\(listen)]\n\(rest)\nchannels: { a: { upstream: https://a.example } }",
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get().listenPlaces.map { "\($0.address)" }
    }

    @Test func `localhost means both loopback addresses, and 127.0.0.1 adds ::1 if it is free`()
        throws
    {
        #expect(try places("localhost:8080") == ["127.0.0.1:8080", "[::1]:8080"])
        #expect(try places("127.0.0.1:8080") == ["127.0.0.1:8080", "[::1]:8080"])
        #expect(try places("'[::1]:8080'") == ["[::1]:8080"])
        #expect(try places("127.0.0.2:8080") == ["127.0.0.2:8080"])
        #expect(try places("127.0.0.1:8080, '[::1]:8080'") == ["127.0.0.1:8080", "[::1]:8080"])
        #expect(try places("127.0.0.1:80", "admin: '[::1]:80'") == ["127.0.0.1:80"])
    }

    @Test func `both loopback addresses share a port chosen by the system`() throws {
        let set = try open(configuration(listen: "localhost:0", "path: /o"))
        #expect(Set(set.addresses.map(\.port)).count == 1)
        #expect(set.addresses.count == (SharedSocket.hasIPv6 ? 2 : 1))
    }

    @Test func `a busy port on IPv6 is an error only if IPv6 was configured`() throws {
        try #require(SharedSocket.hasIPv6)
        for attempt in 1...20 {
            let taken = try open(configuration(listen: "'[::1]:0'", "path: /o"))
            let port = try #require(taken.addresses.first?.port)
            let set: ListenerSet
            do {
                set = try open(configuration(listen: "127.0.0.1:\(port)", "path: /o"))
            } catch  where attempt < 20 {
                // Another test's connection uses this port on IPv4.
                continue
            }
            #expect(set.addresses.map(\.description) == ["127.0.0.1:\(port)"])
            #expect(throws: (any Error).self) {
                try open(configuration(listen: "localhost:\(port)", "path: /o"))
            }
            return
        }
    }
}
