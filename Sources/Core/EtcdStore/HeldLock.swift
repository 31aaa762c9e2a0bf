import NetworkCore
import Synchronization

/// A lock of a family in etcd: a key that exists as long as its lease, which is kept alive while the
/// lock is held.
final class HeldLock: Sendable {
    /// The lifetime of a lease without renewal, in seconds: others wait that long for a dead machine.
    static let lifetime = Duration.seconds(5)
    /// The time by which its holder counts it as ended earlier.
    private static let margin = Duration.milliseconds(250)

    private struct State {
        var lease: Int64
        /// The revision that created the key, which fences every write.
        var created: Int64
        /// Until when it is certain that the lease lives.
        var end: ContinuousClock.Instant
        var isReleased = false
        /// The record read when the lock was acquired, until the first call that returns it.
        var record: EtcdKeyValue??
        var keeper: Task<Void, Never>?
    }

    private let client: EtcdClient
    private let state: Mutex<State>

    /// An acquired lock with its lease.
    ///
    /// - Parameters:
    ///   - lease: the lease.
    ///   - created: the revision that created the key.
    ///   - asked: the time of the request for the lease, which ends no sooner than its lifetime later.
    ///   - record: the record at that revision.
    ///   - client: speaks to etcd.
    init(
        lease: Int64,
        created: Int64,
        asked: ContinuousClock.Instant,
        record: EtcdKeyValue?,
        by client: EtcdClient
    ) {
        self.client = client
        let end = asked + Self.lifetime - Self.margin
        state = Mutex(State(lease: lease, created: created, end: end, record: record))
        let keeper = Task { [weak self, clock = client.clock] in
            while !Task.isCancelled {
                do { try await clock.sleep(until: clock.now + Self.lifetime / 3) } catch { return }
                guard await self?.keepAlive() == true else { return }
            }
        }
        state.withLock { $0.keeper = keeper }
    }

    deinit { release() }

    /// Whether it is certain that no other machine has the lock.
    var isHeld: Bool {
        state.withLock { !$0.isReleased && client.clock.now < $0.end }
    }

    /// The revision that created the key; `nil` once the lock was released.
    var created: Int64? { state.withLock { $0.isReleased ? nil : $0.created } }

    /// Returns the record read when the lock was acquired; `nil` after the first call.
    func takeRecord() -> EtcdKeyValue?? {
        state.withLock { state in
            defer { state.record = nil }
            return state.record
        }
    }

    /// Continues with another lock of the same family after the end of this one's lease.
    func replace(by other: HeldLock) {
        let next = other.state.withLock { state in
            defer { state.isReleased = true }
            return state
        }
        next.keeper?.cancel()
        let isReleased = state.withLock { state in
            (state.lease, state.created, state.end) = (next.lease, next.created, next.end)
            return state.isReleased
        }
        if isReleased { client.revoke(next.lease) }
    }

    /// Lets other machines take the lock; does nothing the second time.
    func release() {
        let (lease, keeper) = state.withLock { state -> (Int64?, Task<Void, Never>?) in
            defer { state.isReleased = true }
            return (state.isReleased ? nil : state.lease, state.keeper)
        }
        keeper?.cancel()
        if let lease { client.revoke(lease) }
    }

    /// - Returns: whether to continue; an ended lease does not come back.
    private func keepAlive() async -> Bool {
        let lease = state.withLock { $0.isReleased ? nil : $0.lease }
        guard let lease else { return false }
        let asked = client.clock.now
        do {
            let answer: EtcdStreamed<EtcdLeaseResponse> = try await client.send(
                "lease/keepalive",
                EtcdLeaseID(ID: EtcdNumber(lease)),
                within: .seconds(1)
            )
            let lives = (answer.result?.TTL?.value ?? 0) > 0
            state.withLock { state in
                guard state.lease == lease else { return }
                state.end = lives ? max(state.end, asked + Self.lifetime - Self.margin) : asked
            }
            return true
        } catch {
            // Another attempt may come in time.
            return !Task.isCancelled
        }
    }
}

extension EtcdClient {
    /// Ends a lease, and with it the key that hangs on it.
    func revoke(_ lease: Int64) {
        // A separate task: releasing a lock does not wait, and an abandoned lease ends by itself.
        begin { client in
            struct Nothing: Decodable {}
            do throws(EtcdFault) {
                let _: Nothing = try await client.send(
                    "lease/revoke",
                    EtcdLeaseID(ID: EtcdNumber(lease))
                )
            } catch {
                // It ends by itself.
            }
        }
    }
}
