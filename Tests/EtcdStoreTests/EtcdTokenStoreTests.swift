import FoundationEssentials
import NetproxyEtcdStore
import NetworkCore
import NetworkTesting
import OAuth
import TestSupport
import Testing

@Suite struct EtcdTokenStoreTests {
    let fleet = Fleet()

    @Test func `a record stored by one machine is loaded by another`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        #expect(try await other.load() == nil)
        try await fleet.put(Fleet.record("first"), by: one)
        #expect(try await other.load()?.refreshToken == Secret("first"))
    }

    @Test func `stored bytes cannot be read without the key`() async throws {
        let store = try fleet.store("host-canary")
        let lock = try await fleet.lock(store)
        _ = try await store.load(under: lock)
        try await store.save(Fleet.record("canary"), replacing: 0)
        #expect(fleet.etcd.values.count == 2)
        for value in fleet.etcd.values.values {
            let text = String(decoding: value.bytes, as: UTF8.self)
            #expect(!text.contains("canary"))
            #expect(text.contains("AES-256-GCM"))
        }
        lock.release()
    }

    @Test func `a record moved to another key does not open`() async throws {
        let store = try fleet.store()
        try await fleet.put(Fleet.record("first"), by: store)
        let bytes = try #require(fleet.etcd.values["/netproxy/orders/record"]?.bytes)
        fleet.etcd.put("/netproxy/bills/record", Array(bytes))
        let other = try fleet.state().store(of: "bills")
        await #expect(throws: TokenStoreError.self) { try await other.load() }
        #expect(fleet.etcd.values["/netproxy/bills/record"]?.bytes == bytes)
    }

    @Test(arguments: [
        "{}", "not JSON", #"{"version":1,"revision":1,"authority":"","access_tokens":{}}"#,
    ])
    func `a record of another program is an error, and stays unchanged`(content: String)
        async throws
    {
        fleet.etcd.put("/netproxy/orders/record", Array(content.utf8))
        let state = try fleet.state()
        let store = state.store(of: "orders")
        do {
            _ = try await store.load()
            Issue.record("it was read")
        } catch TokenStoreError.unreadable(let words) {
            #expect(words.contains("etcd: /netproxy/orders/record: another program wrote it"))
        }
        #expect(state.standing.fault?.kind == .foreign)
        #expect(fleet.etcd.values["/netproxy/orders/record"]?.bytes == Data(content.utf8))
    }

    @Test func `two keys open for a while, and the first one seals`() async throws {
        try await fleet.put(Fleet.record("first"), by: try fleet.store())
        let both = try fleet.state(key: Fleet.otherKey, earlier: [Fleet.key]).store(of: "orders")
        try await fleet.put(Fleet.record("second"), by: both)
        let next = try fleet.state(key: Fleet.otherKey).store(of: "orders")
        #expect(try await next.load()?.refreshToken == Secret("second"))
        await #expect(throws: TokenStoreError.self) { try await fleet.store().load() }
    }

    // MARK: - The lock

    @Test func `one machine has the lock, until it releases it`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        let lock = try await fleet.lock(one)
        #expect(lock.isHeld)
        let waiting = Task {
            try await other.lock(until: fleet.clock.now + .seconds(60), clock: fleet.clock)
        }
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        // A machine that sees the lock taken does not try.
        #expect(fleet.etcd.paths.filter { $0 == "lease/grant" }.count == 1)
        lock.release()
        #expect(!lock.isHeld)
        #expect(try await fleet.end(of: waiting).isHeld)
    }

    @Test func `a machine that waits in vain says who has the lock`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        let lock = try await fleet.lock(one)
        let waiting = Task {
            try await other.lock(until: fleet.clock.now + .seconds(3), clock: fleet.clock)
        }
        await #expect(throws: TokenStoreError.locked("/netproxy/orders/lock (a)")) {
            try await fleet.end(of: waiting)
        }
        #expect(lock.isHeld)
    }

    @Test func `the holder keeps its lock alive`() async throws {
        let store = try fleet.store()
        let lock = try await fleet.lock(store)
        await fleet.advance { fleet.etcd.paths.filter { $0 == "lease/keepalive" }.count == 20 }
        #expect(lock.isHeld)
        #expect(fleet.etcd.values["/netproxy/orders/lock"] != nil)
    }

    @Test
    func `a machine that cannot reach etcd counts its lock as ended before others can take it`()
        async throws
    {
        let store = try fleet.store()
        let lock = try await fleet.lock(store)
        fleet.etcd.fail(.unreachable)
        fleet.clock.advance(by: .milliseconds(4700))
        #expect(lock.isHeld)
        fleet.clock.advance(by: .milliseconds(100))
        #expect(!lock.isHeld)
        fleet.etcd.expire()
        #expect(fleet.etcd.values["/netproxy/orders/lock"] != nil)
    }

    @Test func `a slow response to a keep-alive prolongs the lock from its request`() async throws {
        let lock = try await fleet.lock(try fleet.store())
        fleet.etcd.after("lease/keepalive", count: 1) { [fleet] in
            fleet.clock.advance(by: .milliseconds(900))
            fleet.etcd.fail(.unreachable)
        }
        await fleet.advance { fleet.etcd.count(of: "lease/keepalive") == 1 }
        // The request was sent 900 ms ago.
        fleet.clock.advance(by: .milliseconds(3700))
        #expect(await eventually { lock.isHeld })
        fleet.clock.advance(by: .milliseconds(200))
        #expect(!lock.isHeld)
    }

    @Test func `a lock whose responses were all lost is released as soon as etcd responds`()
        async throws
    {
        let store = try fleet.store()
        fleet.etcd.script("kv/txn", .lostAnswer, .lostAnswer)
        await #expect(throws: TokenStoreError.self) {
            try await store.lock(until: fleet.clock.now + .seconds(1), clock: fleet.clock)
        }
        await fleet.settle()
        #expect(fleet.etcd.values["/netproxy/orders/lock"] == nil)
        #expect(fleet.etcd.count(of: "lease/revoke") == 1)
    }

    // MARK: - Fences

    /// Stops the holder of a lock for longer than its lease.
    private func stop() {
        fleet.etcd.fail(.unreachable)
        fleet.clock.advance(by: .seconds(6))
        fleet.etcd.fail(nil)
        fleet.etcd.expire()
        // A keep-alive that failed in the meantime makes the client pause for 100 ms.
        fleet.clock.advance(by: .milliseconds(200))
    }

    @Test func `a stopped holder never overwrites a newer token`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        try await fleet.put(Fleet.record("first"), by: one)
        let lock = try await fleet.lock(one)
        let found = try #require(try await one.load(under: lock))
        stop()
        try await fleet.put(Fleet.record("second"), by: other)
        var late = found
        late.refreshToken = Secret("late")
        late.revision += 1
        await #expect(throws: TokenStoreError.conflict) {
            try await one.save(late, replacing: found.revision)
        }
        #expect(try await other.load()?.refreshToken == Secret("second"))
    }

    @Test func `a stopped holder writes under a new lock if nothing has changed`()
        async throws
    {
        let one = try fleet.store("a")
        let lock = try await fleet.lock(one)
        #expect(try await one.load(under: lock) == nil)
        stop()
        #expect(!lock.isHeld)
        try await one.save(Fleet.record("late"), replacing: 0)
        #expect(lock.isHeld)
        #expect(try await fleet.store("b").load()?.refreshToken == Secret("late"))
        lock.release()
        #expect(await eventually { fleet.etcd.values["/netproxy/orders/lock"] == nil })
    }

    @Test func `a holder that lost its lock keeps its record in memory`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        let lock = try await fleet.lock(one)
        #expect(try await one.load(under: lock) == nil)
        stop()
        let next = try await fleet.lock(other)
        do {
            try await one.save(Fleet.record("late"), replacing: 0)
            Issue.record("it was stored")
        } catch TokenStoreError.unreadable(let words) {
            #expect(words == "etcd: another machine has taken the lock /netproxy/orders/lock")
        }
        #expect(next.isHeld)
        #expect(try await other.load(under: next) == nil)
    }

    @Test func `nothing is written without the lock`() async throws {
        let store = try fleet.store()
        _ = try await store.load()
        await #expect(throws: TokenStoreError.self) {
            try await store.save(Fleet.record("first"), replacing: 0)
        }
        #expect(fleet.etcd.values.isEmpty)
    }

    // MARK: - Lost responses

    @Test(arguments: ["lease/grant", "kv/txn"])
    func `a lock is acquired although the response was lost`(path: String) async throws {
        fleet.etcd.script(path, .lostAnswer)
        let store = try fleet.store()
        let lock = try await fleet.lock(store)
        #expect(lock.isHeld)
        _ = try await store.load(under: lock)
        try await store.save(Fleet.record("first"), replacing: 0)
    }

    @Test func `a save without a response is recognized by the stored record`() async throws {
        let store = try fleet.store()
        let lock = try await fleet.lock(store)
        _ = try await store.load(under: lock)
        fleet.etcd.script("kv/txn", .lostAnswer)
        try await store.save(Fleet.record("first"), replacing: 0)
        try await store.save(Fleet.record("second", revision: 2), replacing: 1)
        #expect(try await fleet.store("b").load()?.refreshToken == Secret("second"))
    }

    // MARK: - Clocks

    @Test func `machines whose clocks differ agree on how old a token is`() async throws {
        let slow = ManualClock(wall: 1_800_000_000 - 3600)
        // The time on the clock of the fleet.
        fleet.etcd.date = "Fri, 15 Jan 2027 08:00:00 GMT"
        let (one, other) = (
            try fleet.store("a"), try fleet.state("b", clock: slow).store(of: "orders")
        )
        var record = Fleet.record("first")
        record.accessTokens["key"] = TokenRecord.AccessToken(
            value: Secret("access"),
            issuedAt: fleet.clock.wallNow,
            expiresAt: fleet.clock.wallNow + .seconds(60),
            scope: nil
        )
        try await fleet.put(record, by: one)
        let found = try #require(try await other.load()?.accessTokens["key"])
        #expect(found.issuedAt == slow.wallNow)
        #expect(found.expiresAt == slow.wallNow + .seconds(60))
        let own = try #require(try await one.load()?.accessTokens["key"])
        #expect(own.issuedAt == fleet.clock.wallNow)
    }

    @Test func `the age of a token that the watch tells of is exact`() async throws {
        // Its `Date` leaves out 900 ms.
        fleet.clock.advance(by: .milliseconds(900))
        fleet.etcd.date = "Fri, 15 Jan 2027 08:00:00 GMT"
        let fast = ManualClock(wall: 1_800_000_000 + 3600)
        fast.advance(by: .milliseconds(900))
        let (one, other) = (
            try fleet.store("a"), try fleet.state("b", clock: fast).store(of: "orders")
        )
        defer { withExtendedLifetime(other) {} }
        let changes = try #require(other.changes())
        var iterator = changes.makeAsyncIterator()
        #expect(try #require(await iterator.next()) == nil)
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        var record = Fleet.record("first")
        record.refreshExpiresAt = fleet.clock.wallNow + .seconds(60)
        try await fleet.put(record, by: one)
        let found = try #require(await iterator.next()??.refreshExpiresAt)
        #expect(abs((found - fast.wallNow).seconds - 60) < 0.001)
    }

    // MARK: - News

    @Test func `a wait for the lock ends when another machine stores something`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        #expect(try await other.load() == nil)
        let lock = try await fleet.lock(one)
        _ = try await one.load(under: lock)
        let waiting = Task {
            try await other.lockUnlessChanged(
                until: fleet.clock.now + .seconds(60),
                clock: fleet.clock
            )
        }
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        try await one.save(Fleet.record("first"), replacing: 0)
        #expect(try await waiting.value == nil)
        #expect(try await other.load()?.refreshToken == Secret("first"))
    }

    @Test func `news delayed by a silent watch are adopted once`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        let changes = try #require(other.changes())
        var iterator = changes.makeAsyncIterator()
        #expect(try #require(await iterator.next()) == nil)
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        try await fleet.put(Fleet.record("first"), by: one)
        #expect(await iterator.next()??.refreshToken == Secret("first"))
        fleet.etcd.silenceWatches()
        // From here on only requests show changes.
        let lock = try await fleet.lock(one)
        _ = try await one.load(under: lock)
        try await one.save(fleet.announced("first"), replacing: 1)
        #expect(try await other.load()?.intent?.attempts == 1)
        let attempts = fleet.etcd.count(of: "lease/revoke")
        let waiting = Task {
            try await other.lockUnlessChanged(
                until: fleet.clock.now + .seconds(60),
                clock: fleet.clock
            )
        }
        await fleet.advance { fleet.etcd.count(of: "lease/revoke") > attempts }
        lock.release()
        #expect(try await fleet.end(of: waiting) != nil)
    }

    @Test func `late news of an older record do not replace one's own`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        let changes = try #require(other.changes())
        let seen = Task {
            var tokens: [String] = []
            for await found in changes {
                guard let token = found?.refreshToken?.reveal() else { continue }
                tokens.append(token)
                if token == "third" { return tokens }
            }
            return tokens
        }
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        fleet.etcd.holdWatches()
        try await fleet.put(Fleet.record("first"), by: one)
        try await fleet.put(Fleet.record("second", revision: 2), by: other)
        fleet.etcd.releaseWatches()
        let lock = try await fleet.run {
            try await other.lockUnlessChanged(
                until: fleet.clock.now + .seconds(60),
                clock: fleet.clock
            )
        }
        #expect(lock != nil)
        lock?.release()
        try await fleet.put(Fleet.record("third", revision: 3), by: one)
        #expect(await seen.value.contains("first") == false)
    }

    @Test func `the highest revisions survive a restart on this machine`() async throws {
        let directory = try TokenDirectory()
        func store() throws -> EtcdTokenStore {
            try fleet.state(remembering: directory.path).store(of: "orders")
        }
        await (try store()).keepRevisions(["session": 7])
        #expect(await (try store()).revisions() == ["session": 7])
    }

    @Test func `changes are reported when the renewing machine is done`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        defer { withExtendedLifetime(other) {} }
        let changes = try #require(other.changes())
        var iterator = changes.makeAsyncIterator()
        #expect(try #require(await iterator.next()) == nil)
        let lock = try await fleet.lock(one)
        _ = try await one.load(under: lock)
        try await one.save(fleet.announced("first"), replacing: 0)
        try await one.save(Fleet.record("second", revision: 2), replacing: 1)
        #expect(await iterator.next()??.refreshToken == Secret("second"))
    }

    @Test func `an abandoned note is reported`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        defer { withExtendedLifetime(other) {} }
        let changes = try #require(other.changes())
        var iterator = changes.makeAsyncIterator()
        #expect(try #require(await iterator.next()) == nil)
        let lock = try await fleet.lock(one)
        _ = try await one.load(under: lock)
        try await one.save(fleet.announced("first"), replacing: 0)
        stop()
        #expect(await iterator.next()??.intent?.attempts == 1)
    }

    @Test func `a watch that broke is made again and misses nothing`() async throws {
        let (one, other) = (try fleet.store("a"), try fleet.store("b"))
        defer { withExtendedLifetime(other) {} }
        let changes = try #require(other.changes())
        let news = Task<TokenRecord?, any Error> {
            for await found in changes { if let found { return found } }
            return nil
        }
        #expect(await eventually { fleet.etcd.watcherCount == 1 })
        fleet.etcd.breakWatches()
        try await fleet.put(Fleet.record("first"), by: one)
        #expect(try await fleet.end(of: news)?.refreshToken == Secret("first"))
    }
}
