import NetproxyEventIO
import NetworkCore
import TestSupport
import Testing

@testable import OriginTransport

/// Tests of the reuse of idle connections.
@Suite struct ConnectionTrustTests {
    /// A transport on a loop with clocks that a test moves.
    private struct World {
        let loop: EventLoop
        let transport: PooledTransport
        let origin: OriginServer

        init(answering answer: @escaping @Sendable (RawMessage) -> String) async throws {
            origin = try await OriginServer.start(answering: answer)
            loop = try EventLoop()
            try loop.start()
            transport = try PooledTransport(options: UpstreamOptions(), on: loop)
        }

        func get() async throws {
            let request = Request(
                method: .get,
                origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
                target: "/",
                headers: [:],
                body: .empty
            )
            var context = RequestContext()
            let response = try await transport.send(request, context: &context)
            _ = try await response.body.collect(upTo: 100)
        }

        func advance(by duration: Duration) async {
            _ = await loop.call { $0.advance(by: duration) }
        }

        func suspend(for duration: Duration) async {
            _ = await loop.call { $0.pretendSuspension(duration) }
        }

        func end() async {
            loop.stop()
            await loop.waitUntilStopped()
        }
    }

    @Test func `idle connections are not reused after a suspension`() async throws {
        let world = try await World { _ in Raw.ok() }
        try await world.get()
        try await world.get()
        #expect(world.origin.connections.count == 1)
        await world.suspend(for: .seconds(5))
        try await world.get()
        #expect(world.origin.connections.count == 2)
        // A later connection is reused.
        try await world.get()
        #expect(world.origin.connections.count == 2)
        await world.end()
    }

    @Test(arguments: [
        // One second less, or a fifth, as a margin for the transfer.
        ("timeout=60, max=5", Duration.seconds(40), 1),
        ("timeout=60, max=5", .milliseconds(59_500), 2),
        ("timeout=1", .milliseconds(950), 2),
        ("timeout=0", .zero, 2), ("max=1", .seconds(80), 1), ("timeout=soon", .seconds(80), 1),
        // Not longer than our own timeout.
        ("timeout=600", .seconds(80), 1), ("timeout=600", .seconds(100), 2),
    ])
    func `a connection is idle no longer than its server announces`(
        announced: String,
        pause: Duration,
        connections: Int
    ) async throws {
        let world = try await World { _ in Raw.ok("hello", "Keep-Alive: \(announced)") }
        try await world.get()
        await world.advance(by: pause)
        try await world.get()
        #expect(world.origin.connections.count == connections)
        await world.end()
    }

    @Test func `a name is resolved again only while it is in use`() throws {
        let names = NameWatch(host: "api.example")
        let second: UInt64 = 1_000_000_000
        let due = [100, 119, 120].map { names.isDue(at: $0 * second) }
        #expect(due == [false, false, true])
        names.begin(at: 120 * second)
        let isDueSoon = names.isDue(at: 139 * second)
        #expect(!isDueSoon)
        let old = try #require(SocketAddress(ip: "192.0.2.1", port: 443))
        let new = try #require(SocketAddress(ip: "192.0.2.2", port: 443))
        // No result yet, so no address is outdated.
        #expect(names.admits(old))
        names.learn([old, new])
        #expect(names.generation == 1)
        // The order is irrelevant.
        names.learn([new, old])
        #expect(names.generation == 1)
        names.learn([new])
        #expect(names.generation == 2)
        #expect(!names.admits(old))
        #expect(names.admits(new))
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1"])
    func `a numeric address is not resolved again`(host: String) {
        let names = NameWatch(host: host)
        let due = [0, .max].map { names.isDue(at: $0) }
        #expect(due == [false, false])
    }

    @Test func `uploads leave a quarter of the pool to other requests`() {
        #expect([1, 2, 4, 8, 128].map { UploadShare(of: $0).limit } == [1, 1, 3, 6, 96])
        var share = UploadShare(of: 4)
        let begun = (1...4).map { _ in share.begin() }
        #expect(begun == [true, true, true, false])
        let waiter = PoolWaiter()
        share.waiters.add(waiter)
        share.end()
        // The waiter received its place.
        #expect(!waiter.isWaiting)
        let isFree = share.begin()
        #expect(!isFree)
        share.end()
        let isFreeNow = share.begin()
        #expect(isFreeNow)
    }

    @Test func `address families alternate`() throws {
        func addresses(_ texts: String...) throws -> [SocketAddress] {
            try texts.map { try #require(SocketAddress(ip: $0, port: 1)) }
        }
        #expect(
            AddressRace.alternating(try addresses("::1", "::2", "::3", "10.0.0.1", "10.0.0.2"))
                == (try addresses("::1", "10.0.0.1", "::2", "10.0.0.2", "::3"))
        )
        #expect(
            AddressRace.alternating(try addresses("10.0.0.1", "::1", "::2"))
                == (try addresses("10.0.0.1", "::1", "::2"))
        )
        #expect(
            AddressRace.alternating(try addresses("::2", "::1")) == (try addresses("::2", "::1"))
        )
    }
}
