import Dispatch
import NetproxyEventIO
import Synchronization
import TestSupport
import Testing

/// Tests of the queue of names and their waiting callers.
@Suite struct ResolverQueueTests {
    private static let found = SocketAddress(ip: "192.0.2.1", port: 0).map { [$0] } ?? []
    private static let noServer = NameLookup.Failure(.temporary, reason: "no server")

    /// Name servers that count queries, and resolve dead names only after their gate opens.
    private final class NameServers: Sendable {
        let asked = Counter()
        private let names = Mutex<[String]>([])
        private let gate = DispatchSemaphore(value: 0)

        func lookUp(_ host: String) -> Result<[SocketAddress], NameLookup.Failure> {
            names.withLock { $0.append(host) }
            asked.add(1)
            guard host.hasPrefix("dead") else { return .success(ResolverQueueTests.found) }
            // One after the other, once the first has passed.
            gate.wait()
            gate.signal()
            return .failure(ResolverQueueTests.noServer)
        }

        func open() {
            gate.signal()
        }

        var askedFor: [String] { names.withLock { $0 } }
    }

    private func ask(
        _ resolver: Resolver,
        _ host: String,
        within time: Duration = Wire.patience
    ) -> Task<Result<[String], IOError>, Never> {
        Task {
            guard let loop = try? TestLoop.shared() else { return .failure(.aborted) }
            return await Task(executorPreference: loop) {
                do throws(IOError) {
                    let deadline = loop.deadline(after: time)
                    return .success(
                        try await resolver.addresses(of: host, port: 80, on: loop, until: deadline)
                            .map(\.description)
                    )
                } catch {
                    return .failure(error)
                }
            }.value
        }
    }

    @Test func `a name that does not resolve delays no other name`() async {
        let servers = NameServers()
        defer { servers.open() }
        let resolver = Resolver { servers.lookUp($0) }
        let dead = (1...50).map { _ in ask(resolver, "dead.example", within: .milliseconds(20)) }
        #expect(await ask(resolver, "good.example").value == .success(["192.0.2.1:80"]))
        for task in dead { #expect(await task.value == .failure(.timedOut)) }
        #expect(await ask(resolver, "other.example").value == .success(["192.0.2.1:80"]))
        #expect(servers.askedFor.count { $0 == "dead.example" } == 1)
    }

    @Test func `a name without waiting callers is not looked up`() async {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        let names = (1...16).map { "dead\($0).example" }
        let busy = names.map { ask(resolver, $0) }
        #expect(await eventually { servers.asked.value == 16 })
        let late = ask(resolver, "late.example", within: .milliseconds(20))
        #expect(await late.value == .failure(.timedOut))
        servers.open()
        for task in busy { #expect(await task.value == .failure(.unknownHost("no server"))) }
        #expect(await ask(resolver, "last.example").value == .success(["192.0.2.1:80"]))
        #expect(!servers.askedFor.contains("late.example"))
    }

    @Test func `a canceled task stops waiting`() async throws {
        let servers = NameServers()
        defer { servers.open() }
        let resolver = Resolver { servers.lookUp($0) }
        let loop = try TestLoop.shared()
        let task = Task(executorPreference: loop) { () -> IOError? in
            do throws(IOError) {
                _ = try await resolver.addresses(
                    of: "dead.example",
                    port: 80,
                    on: loop,
                    until: .max
                )
                return nil
            } catch {
                return error
            }
        }
        #expect(await eventually { servers.asked.value == 1 })
        task.cancel()
        #expect(await task.value == .aborted)
    }

    @Test(arguments: [NameLookup.Failure.Persistence.temporary, .permanent])
    func `an old result is used if name servers fail, but not if they deny the name`(
        persistence: NameLookup.Failure.Persistence
    ) async throws {
        let (questions, clock) = (Counter(), ResolverClock())
        let resolver = Resolver(now: { clock.now }) { _ in
            questions.next() == 1
                ? .success(ResolverQueueTests.found)
                : .failure(NameLookup.Failure(persistence, reason: "no"))
        }
        let loop = try EventLoop()
        try loop.start()
        let ask = { @Sendable () async -> Result<[SocketAddress], IOError> in
            await Task(executorPreference: loop) {
                do throws(IOError) {
                    return .success(
                        try await resolver.addresses(
                            of: "a.example",
                            port: 0,
                            on: loop,
                            until: loop.deadline(after: Wire.patience)
                        )
                    )
                } catch {
                    return .failure(error)
                }
            }.value
        }
        #expect(await ask() == .success(ResolverQueueTests.found))
        clock.advance(by: .seconds(31))
        #expect(
            await ask()
                == (persistence == .temporary
                    ? .success(ResolverQueueTests.found) : .failure(.unknownHost("no")))
        )
        #expect(questions.value == 2)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test(arguments: ["localhost", "api.localhost", "API.Localhost"])
    func `a local name resolves to loopback without name servers`(name: String) async {
        let servers = NameServers()
        let resolver = Resolver { servers.lookUp($0) }
        #expect(await ask(resolver, name).value == .success(["127.0.0.1:80", "[::1]:80"]))
        #expect(servers.asked.value == 0)
    }
}
