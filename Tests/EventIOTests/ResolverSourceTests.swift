import Dispatch
import NetproxyEventIO
import Synchronization
import TestSupport
import Testing

/// Tests that names from clients take no resources from names in the configuration.
@Suite struct ResolverSourceTests {
    /// Name servers that resolve `good` names, and stay silent about all others until `end`.
    private final class NameServers: Sendable {
        let silent = Counter()
        private let names = Mutex<[String]>([])
        private let gate = DispatchSemaphore(value: 0)

        func lookUp(_ host: String) -> Result<[SocketAddress], NameLookup.Failure> {
            names.withLock { $0.append(host) }
            guard host.hasPrefix("good") else {
                silent.add(1)
                gate.wait()
                gate.signal()
                return .failure(NameLookup.Failure(.temporary, reason: "silent"))
            }
            return .success(
                ["192.0.2.1", "2001:db8::1"].compactMap { SocketAddress(ip: $0, port: 0) }
            )
        }

        func end() { gate.signal() }

        func asked(for host: String) -> Int { names.withLock { $0.count { $0 == host } } }
    }

    private func ask(
        _ resolver: Resolver,
        _ host: String,
        for source: Resolver.Source,
        maximumAge: Duration? = nil
    ) -> Task<[String], Never> {
        Task {
            guard let loop = try? TestLoop.shared() else { return [] }
            return await Task(executorPreference: loop) {
                let addresses = try? await resolver.addresses(
                    of: host,
                    port: 80,
                    for: source,
                    maximumAge: maximumAge,
                    on: loop,
                    until: loop.deadline(after: Wire.patience)
                )
                return addresses?.map(\.description) ?? []
            }.value
        }
    }

    @Test func `a hundred dead client names do not delay names in the configuration`() async {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        let dead = (1...100).map { ask(resolver, "dead\($0).example", for: .app) }
        #expect(await eventually { servers.silent.value == 8 })
        #expect(await !ask(resolver, "good.example", for: .configuration).value.isEmpty)
        #expect(servers.silent.value == 8)
        servers.end()
        for task in dead { #expect(await task.value.isEmpty) }
        #expect(servers.silent.value == 100)
        // The threads are free again.
        #expect(await !ask(resolver, "good-too.example", for: .app).value.isEmpty)
    }

    @Test func `a name queried by a client moves up when the configuration queries it`()
        async
    {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        let dead = (1...8).map { ask(resolver, "dead\($0).example", for: .app) }
        #expect(await eventually { servers.silent.value == 8 })
        let first = ask(resolver, "good.example", for: .app)
        #expect(await !ask(resolver, "good.example", for: .configuration).value.isEmpty)
        #expect(await !first.value.isEmpty)
        #expect(servers.asked(for: "good.example") == 1)
        servers.end()
        for task in dead { _ = await task.value }
    }

    @Test func `new client names displace only the oldest client names`() async {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        _ = await ask(resolver, "good.example", for: .configuration).value
        _ = await ask(resolver, "good1.example", for: .app).value
        // Eight at a time: otherwise the first results could expire on a slow machine.
        for start in stride(from: 2, through: 1025, by: 8) {
            let some = (start..<(start + 8)).map { ask(resolver, "good\($0).example", for: .app) }
            for task in some { _ = await task.value }
        }
        _ = await ask(resolver, "good.example", for: .app).value
        _ = await ask(resolver, "good2.example", for: .app).value
        #expect(servers.asked(for: "good.example") == 1)
        #expect(servers.asked(for: "good2.example") == 1)
        _ = await ask(resolver, "good1.example", for: .app).value
        #expect(servers.asked(for: "good1.example") == 2)
    }

    @Test func `the address that connected is tried first until it fails`() async throws {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        let (four, six) = ("192.0.2.1:80", "[2001:db8::1]:80")
        #expect(await ask(resolver, "good.example", for: .configuration).value == [four, six])
        let winner = try #require(SocketAddress(ip: "2001:db8::1", port: 80))
        resolver.prefer(winner, of: "good.example")
        #expect(await ask(resolver, "good.example", for: .configuration).value == [six, four])
        // A new result with the same address keeps it first.
        let fresh = ask(resolver, "good.example", for: .configuration, maximumAge: .zero)
        #expect(await fresh.value == [six, four])
        #expect(servers.asked(for: "good.example") == 2)
        resolver.forget("good.example")
        #expect(await ask(resolver, "good.example", for: .configuration).value == [four, six])
    }
}
