import NetproxyEtcdStore
import NetworkCore
import NetworkTesting
import OAuth
import Synchronization
import TestSupport
import Testing

/// Machines that share a store in etcd.
final class Fleet: Sendable {
    static let key = Secret("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
    static let otherKey = Secret("ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=")

    let clock: ManualClock
    let etcd: EtcdModel
    private let clients = Mutex<[EtcdClient]>([])

    init(clock: ManualClock = ManualClock()) {
        self.clock = clock
        etcd = EtcdModel(clock: clock)
    }

    /// The state of another machine.
    func state(
        _ name: String = "a",
        members: [String] = ["one"],
        login: EtcdClient.Login? = nil,
        key: Secret = Fleet.key,
        earlier: [Secret] = [],
        clock: ManualClock? = nil,
        remembering directory: String? = nil
    ) throws -> EtcdState {
        let client = EtcdClient(
            members.map { Origin(scheme: .https, host: $0, port: 2379) },
            over: etcd,
            as: login,
            clock: clock ?? self.clock
        )
        clients.withLock { $0.append(client) }
        return EtcdState(
            below: "/netproxy/",
            sealing: try TokenSeal(base64: key, earlier: earlier),
            as: name,
            remembering: directory,
            by: client
        )
    }

    /// Waits for the work in the background.
    func settle() async {
        for client in clients.withLock({ $0 }) { await client.settle() }
    }

    func store(_ name: String = "a") throws -> EtcdTokenStore {
        try state(name).store(of: "orders")
    }

    /// Takes the lock, which must be free.
    func lock(_ store: EtcdTokenStore) async throws -> TokenStoreLock {
        // The lock before may be released a moment later.
        await settle()
        return try await store.lock(until: clock.now + .seconds(1), clock: clock)
    }

    /// Moves the clock until a condition holds.
    func advance(until isDone: () -> Bool) async {
        #expect(
            await eventually {
                if isDone() { return true }
                clock.advance(by: .milliseconds(20))
                return isDone()
            }
        )
    }

    /// Moves the clock until a task has ended.
    func end<Value: Sendable>(of task: Task<Value, any Error>) async throws -> Value {
        let ends = Counter()
        let waiting = Task {
            defer { ends.add(1) }
            return try await task.value
        }
        await advance { ends.value > 0 }
        return try await waiting.value
    }

    /// Runs a closure while the clock advances: a machine that waits for a lock lets others go first
    /// for some time.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await end(of: Task { try await body() })
    }

    static func record(_ refreshToken: String, revision: Int = 1) -> TokenRecord {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.refreshToken = Secret(refreshToken)
        record.revision = revision
        return record
    }

    /// A record with an open presentation.
    func announced(_ refreshToken: String) -> TokenRecord {
        var record = Fleet.record(refreshToken)
        record.intent = TokenRecord.Intent(
            fingerprint: TokenRecord.fingerprint(Secret(refreshToken)),
            startedAt: clock.wallNow,
            attempts: 1
        )
        return record
    }

    /// Stores a record like another machine.
    func put(_ record: TokenRecord, by store: EtcdTokenStore) async throws {
        let lock = try await lock(store)
        let before = try await store.load(under: lock)
        var record = record
        record.revision = (before?.revision ?? 0) + 1
        try await store.save(record, replacing: before?.revision ?? 0)
        lock.release()
        await settle()
    }
}
