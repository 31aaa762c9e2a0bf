import NetproxyEtcdStore
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

@Suite struct EtcdClientTests {
    let fleet = Fleet()

    /// The description of the error that a store throws during a fault.
    private func words(of state: EtcdState) async -> String {
        do {
            _ = try await state.store(of: "orders").load()
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        (14, "etcdserver: no leader", EtcdFault.Kind.noLeader, "the cluster has no leader"),
        (14, "etcdserver: leader changed", .noLeader, "the cluster has no leader"),
        (14, "etcdserver: request timed out", .slow, "too few members answer in time"),
        (8, "etcdserver: too many requests", .slow, "too few members answer in time"),
        (8, "etcdserver: mvcc: database space exceeded", .full, "the database is full"),
        (7, "etcdserver: permission denied", .denied, "check user, role and prefix"),
        (14, "transport is closing", .unreachable, "transport is closing"),
        (2, "something else", .unexpected, "something else"),
    ])
    func `a refusal of etcd is reported by its kind`(
        code: Int,
        message: String,
        kind: EtcdFault.Kind,
        part: String
    ) async throws {
        let state = try fleet.state()
        fleet.etcd.fail(.refused(code: code, message: message))
        let words = await words(of: state)
        #expect(words.hasPrefix("etcd: https://one:2379"))
        #expect(words.contains(part))
        #expect(state.standing.fault?.kind == kind)
        #expect(state.standing.counts == [kind: 1])
        fleet.etcd.fail(nil)
        fleet.clock.advance(by: .milliseconds(100))
        #expect(await self.words(of: state) == "none")
        // A successful reading does not show that writing works.
        #expect((state.standing.fault == nil) == (kind != .full))
        _ = try await fleet.lock(state.store(of: "orders"))
        #expect(state.standing.fault == nil)
        #expect(state.standing.counts == [kind: 1])
    }

    @Test func `a member that cannot be reached is left for another one`() async throws {
        let state = try fleet.state(members: ["one", "two", "three"])
        fleet.etcd.fail(.unreachable, at: "one")
        fleet.etcd.fail(.refused(code: 14, message: "etcdserver: no leader"), at: "three")
        #expect(await words(of: state) == "none")
        let asked = fleet.etcd.members.count
        for _ in 0..<5 { #expect(await words(of: state) == "none") }
        // From then on that member is tried first.
        #expect(fleet.etcd.members.dropFirst(asked).allSatisfy { $0.host == "two" })
        #expect(fleet.etcd.members.count == asked + 5)
        #expect(state.standing.fault == nil)
    }

    @Test func `a refusal common to all members costs one request`() async throws {
        let state = try fleet.state(members: ["one", "two", "three"])
        fleet.etcd.fail(.refused(code: 7, message: "etcdserver: permission denied"))
        _ = await words(of: state)
        #expect(fleet.etcd.members.count == 1)
    }

    @Test func `every member gets the request before it fails`() async throws {
        let state = try fleet.state(members: ["one", "two", "three"])
        fleet.etcd.fail(.unreachable)
        #expect(await words(of: state).contains("cannot be reached"))
        #expect(Set(fleet.etcd.members.map(\.host)) == ["one", "two", "three"])
        #expect(state.standing.counts == [.unreachable: 1])
    }

    @Test func `unresponsive members get no requests for a moment`() async throws {
        let state = try fleet.state(members: ["one", "two"])
        fleet.etcd.fail(.unreachable)
        for _ in 0..<5 { #expect(await words(of: state).contains("cannot be reached")) }
        #expect(fleet.etcd.members.count == 2)
        #expect(state.standing.counts == [.unreachable: 1])
        fleet.clock.advance(by: .milliseconds(100))
        _ = await words(of: state)
        #expect(fleet.etcd.members.count == 4)
    }

    @Test func `a user logs in once, and again when the login has ended`() async throws {
        let reads = Counter()
        let login = EtcdClient.Login(name: "netproxy") {
            Secret("password-\(reads.next())")
        }
        let state = try fleet.state(login: login)
        fleet.etcd.demandLogin()
        #expect(await words(of: state) == "none")
        #expect(await words(of: state) == "none")
        #expect(reads.current == 1)
        fleet.etcd.demandLogin()
        #expect(await words(of: state) == "none")
        #expect(reads.current == 2)
    }

    @Test func `the error of a cluster with users names the missing login`() async throws {
        let state = try fleet.state()
        fleet.etcd.demandLogin()
        #expect(await words(of: state).contains("access is denied"))
    }

    @Test func `the families are those that have tokens`() async throws {
        let state = try fleet.state()
        try await fleet.put(Fleet.record("first"), by: state.store(of: "orders"))
        try await fleet.put(Fleet.record("first"), by: state.store(of: "a/b .c"))
        _ = try await fleet.lock(state.store(of: "bills"))
        #expect(try await state.families() == ["a/b .c", "orders"])
    }
}
