import NetproxyEtcdStore
import NetworkCore
import NetworkTesting
import OAuth
import TestSupport
import Testing

/// The token engine of several machines on one store.
@Suite struct FleetEngineTests {
    let fleet = Fleet()
    let server: AuthorizationServerModel

    init() {
        server = AuthorizationServerModel(clock: fleet.clock, grace: .seconds(30))
    }

    private func machine(
        _ name: String,
        grant: OAuthConfiguration.Grant = .refreshToken(initial: Secret("initial"))
    ) throws -> OAuthHarness {
        OAuthHarness(
            grant: grant,
            clock: fleet.clock,
            server: server,
            store: try fleet.store(name),
            jitter: 0.5
        )
    }

    @Test func `machines that start at once make one token request`() async throws {
        let machines = try (0..<12).map { try machine("\($0)") }
        let all = Task {
            try await withThrowingTaskGroup { group in
                for machine in machines {
                    group.addTask {
                        await machine.manager.start()
                        _ = try await machine.token()
                    }
                }
                try await group.waitForAll()
            }
        }
        try await fleet.end(of: all)
        #expect(server.requests.count == 1)
    }

    @Test func `a start takes no lock`() async throws {
        try await fleet.put(Fleet.record("initial"), by: try fleet.store())
        let before = fleet.etcd.paths.count
        let machine = try machine("b", grant: .refreshToken(initial: nil))
        await machine.manager.start()
        #expect(machine.manager.isSignedIn)
        #expect(!fleet.etcd.paths.dropFirst(before).contains("lease/grant"))
    }

    @Test func `another machine's token is there before a 401 is`() async throws {
        let (one, other) = (try machine("a"), try machine("b"))
        _ = try await one.token()
        await other.manager.start()
        #expect(try await other.token() == "Bearer access-1")
        try await fleet.run { try await one.manager.forceRefresh() }
        #expect(await eventually { (try? await other.token()) == "Bearer access-2" })
        #expect(server.requests.count == 2)
    }

    @Test func `a token in hand is served while etcd is gone, until it ends`() async throws {
        let machine = try machine("a")
        _ = try await machine.token()
        await fleet.settle()
        fleet.etcd.fail(.refused(code: 14, message: "etcdserver: no leader"))
        // The renewal is due, and the token lives.
        fleet.clock.advance(by: .seconds(3595))
        #expect(try await machine.token() == "Bearer access-1")
        #expect(await machine.failure() == nil)
        fleet.clock.advance(by: .seconds(10))
        let failure = try #require(await machine.failure())
        #expect(failure.kind == .credentialUnavailable)
        #expect(failure.retryAfter != nil)
        #expect(failure.detail.contains("the cluster has no leader"))
        #expect(server.requests.count == 1)
        fleet.etcd.fail(nil)
        fleet.clock.advance(by: .seconds(60))
        #expect(try await machine.token() == "Bearer access-2")
    }

    @Test func `a refresh token is not presented if that cannot be recorded`() async throws {
        let machine = try machine("a")
        _ = try await machine.token()
        await fleet.settle()
        fleet.clock.advance(by: .seconds(3605))
        // The lock can be taken, and then the database is full.
        let full = EtcdModel.Mishap.refused(
            code: 8,
            message: "etcdserver: mvcc: database space exceeded"
        )
        fleet.etcd.script("kv/txn", .unharmed, full)
        let failure = try #require(await machine.failure())
        #expect(failure.kind == .credentialUnavailable)
        #expect(failure.detail.contains("the database is full"))
        #expect(server.requests.count == 1)
        await fleet.settle()
        fleet.clock.advance(by: .seconds(60))
        #expect(try await machine.token() == "Bearer access-2")
        #expect(!server.sawReuse)
    }

    @Test func `a machine stopped before its presentation presents nothing`() async throws {
        let (one, other) = (try machine("a"), try machine("b"))
        _ = try await one.token()
        await fleet.settle()
        // The machine stops after its note is durable, for longer than its lease.
        fleet.etcd.after("kv/txn", count: 2) { [fleet] in
            fleet.etcd.fail(.unreachable)
            fleet.clock.advance(by: .seconds(6))
        }
        await #expect(throws: NetworkError.self) { try await one.manager.forceRefresh() }
        #expect(server.requests.count == 1)
        fleet.etcd.fail(nil)
        fleet.etcd.expire()
        try await other.manager.forceRefresh()
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }

    @Test func `tokens that came while etcd was gone are stored later`() async throws {
        let (one, other) = (try machine("a"), try machine("b"))
        _ = try await one.token()
        await fleet.settle()
        server.gate.close()
        let renewal = Task { try await one.manager.forceRefresh() }
        #expect(await eventually { server.requests.count == 2 })
        fleet.etcd.fail(.unreachable)
        server.gate.open()
        try await renewal.value
        #expect(try await one.token() == "Bearer access-2")
        let before = fleet.etcd.written(to: "/netproxy/orders/record")
        fleet.etcd.fail(nil)
        let stored = try fleet.store("c")
        await fleet.advance { fleet.etcd.written(to: "/netproxy/orders/record") > before }
        #expect(try await stored.load()?.refreshToken == Secret("refresh-2"))
        try await fleet.run { try await other.manager.forceRefresh() }
        #expect(!server.sawReuse)
    }

    @Test func `a credential that can be requested again needs no store`() async throws {
        fleet.etcd.fail(.unreachable)
        let machine = try machine("a", grant: .clientCredentials)
        await machine.manager.start()
        #expect(await machine.manager.status().lastFailure == nil)
        #expect(try await machine.token() == "Bearer access-1")
    }

    @Test func `a dead session does not make machines queue for the lock`() async throws {
        let (one, other) = (try machine("a"), try machine("b"))
        _ = try await one.token()
        server.revokeAll()
        await #expect(throws: NetworkError.self) {
            try await fleet.run { try await one.manager.forceRefresh() }
        }
        #expect(try await other.token() == "Bearer access-1")
        await fleet.settle()
        let before = fleet.etcd.paths.count
        for _ in 0..<3 {
            fleet.clock.advance(by: .seconds(4000))
            #expect(await other.failure()?.kind == .reauthorizationRequired)
        }
        #expect(!fleet.etcd.paths.dropFirst(before).contains("lease/grant"))
        // A sign-in elsewhere.
        server.admit(refreshToken: "fresh")
        var record = Fleet.record("fresh")
        record.seed = TokenRecord.fingerprint(Secret("initial"))
        try await fleet.put(record, by: try fleet.store("c"))
        fleet.clock.advance(by: .seconds(10))
        #expect(try await other.token() == "Bearer access-2")
    }
}
