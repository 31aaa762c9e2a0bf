import Dispatch
import NetproxyEventIO
import Synchronization
import TestSupport
import Testing

/// The clock that measures the age of a resolver's results, advanced by hand.
final class ResolverClock: Sendable {
    private let nanoseconds = Mutex<UInt64>(1_000_000_000_000)

    var now: UInt64 { nanoseconds.withLock { $0 } }

    func advance(by duration: Duration) {
        nanoseconds.withLock { $0 += duration.nanoseconds }
    }
}

/// Tests of the time for which results are used.
@Suite struct ResolverAgeTests {
    private static let found = SocketAddress(ip: "192.0.2.1", port: 0).map { [$0] } ?? []

    /// Name servers that resolve the first query, and then fail or stay silent.
    private final class NameServers: Sendable {
        enum Later {
            case gone
            case silent
        }

        let asked = Counter()
        private let later: Later
        private let gate = DispatchSemaphore(value: 0)

        init(_ later: Later) {
            self.later = later
        }

        func lookUp(_ host: String) -> Result<[SocketAddress], NameLookup.Failure> {
            if asked.next() == 1 { return .success(ResolverAgeTests.found) }
            if later == .silent {
                gate.wait()
                gate.signal()
            }
            return .failure(NameLookup.Failure(.temporary, reason: "no server"))
        }

        func open() {
            gate.signal()
        }
    }

    /// A resolver with its own clock, and a loop with a clock that advances with it.
    private struct World {
        let servers: NameServers
        let resolver: Resolver
        let loop: EventLoop
        private let clock: ResolverClock

        init(_ later: NameServers.Later) throws {
            let servers = NameServers(later)
            let clock = ResolverClock()
            (self.servers, self.clock) = (servers, clock)
            resolver = Resolver(now: { clock.now }) { servers.lookUp($0) }
            loop = try EventLoop()
            try loop.start()
        }

        /// Resolves a name within ten seconds.
        func ask() -> Task<Result<[SocketAddress], IOError>, Never> {
            let (resolver, loop) = (resolver, loop)
            return Task(executorPreference: loop) {
                do throws(IOError) {
                    return .success(
                        try await resolver.addresses(
                            of: "a.example",
                            port: 0,
                            on: loop,
                            until: loop.deadline(after: .seconds(10))
                        )
                    )
                } catch {
                    return .failure(error)
                }
            }
        }

        /// Resolves a name, and returns the position of its result in the count of `order`.
        func ask(counting order: Counter) -> Task<Int, Never> {
            let (resolver, loop) = (resolver, loop)
            return Task(executorPreference: loop) {
                _ = try? await resolver.addresses(of: "a.example", port: 0, on: loop, until: .max)
                return order.next()
            }
        }

        func advance(by duration: Duration) async {
            clock.advance(by: duration)
            _ = await loop.call { $0.advance(by: duration) }
        }

        func end() async {
            servers.open()
            loop.stop()
            await loop.waitUntilStopped()
        }
    }

    @Test func `a result is used for half a minute`() async throws {
        let world = try World(.gone)
        #expect(await world.ask().value == .success(Self.found))
        await world.advance(by: .seconds(28))
        #expect(await world.ask().value == .success(Self.found))
        #expect(world.servers.asked.value == 1)
        await world.advance(by: .seconds(3))
        #expect(await world.ask().value == .success(Self.found))
        #expect(world.servers.asked.value == 2)
        await world.end()
    }

    @Test func `an old result is used for five seconds before name servers are queried again`()
        async throws
    {
        let world = try World(.gone)
        #expect(await world.ask().value == .success(Self.found))
        world.resolver.forget("a.example")
        #expect(await world.ask().value == .success(Self.found))
        await world.advance(by: .seconds(3))
        #expect(await world.ask().value == .success(Self.found))
        #expect(world.servers.asked.value == 2)
        await world.advance(by: .seconds(3))
        #expect(await world.ask().value == .success(Self.found))
        #expect(world.servers.asked.value == 3)
        await world.end()
    }

    @Test func `a resolver with an old result waits one second for silent name servers`()
        async throws
    {
        let world = try World(.silent)
        #expect(await world.ask().value == .success(Self.found))
        world.resolver.forget("a.example")
        let asking = world.ask()
        #expect(await eventually { world.servers.asked.value == 2 })
        await world.advance(by: .seconds(2))
        #expect(await asking.value == .success(Self.found))
        // The resolver does not query again for five seconds, so this call returns before the task after it. On a
        // slow machine, the five seconds began before the clock advanced.
        await world.advance(by: .milliseconds(2500))
        let order = Counter()
        let loop = world.loop
        let (first, second) = (
            world.ask(counting: order), Task(executorPreference: loop) { order.next() }
        )
        #expect(await (first.value, second.value) == (1, 2))
        await world.end()
    }

    @Test(arguments: [(3590, true), (3610, false)])
    func `an old result is used for an hour`(seconds: Int, isUsed: Bool) async throws {
        let world = try World(.silent)
        #expect(await world.ask().value == .success(Self.found))
        await world.advance(by: .seconds(seconds))
        let asking = world.ask()
        #expect(await eventually { world.servers.asked.value == 2 })
        await world.advance(by: .seconds(11))
        #expect(await asking.value == (isUsed ? .success(Self.found) : .failure(.timedOut)))
        await world.end()
    }
}
