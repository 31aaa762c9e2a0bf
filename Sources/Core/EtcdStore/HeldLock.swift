import NetworkCore
import Synchronization

/// A lock of a family in etcd: a key that exists for as long as its lease, which is kept alive while the
/// lock is held.
final class HeldLock: Sendable {
    /// How long a lease lasts that is not kept alive, in seconds: as long as others wait for a machine that
    /// has died.
    static let lifetime = Duration.seconds(5)
    /// How much earlier its holder counts it as ended.
    private static let margin = Duration.milliseconds(250)

    private struct State {
        var lease: Int64
        /// The revision that created the key: what fences every write.
        var created: Int64
        /// Until when it is certain that the lease lives.
        var end: ContinuousClock.Instant
        var isReleased = false
        /// What the record was when the lock was taken, until it has been looked at.
        var record: EtcdKeyValue??
        var keeper: Task<Void, Never>?
    }

    private let client: EtcdClient
    private let state: Mutex<State>

    /// A lock that was taken with a lease.
    ///
    /// - Parameters:
    ///   - lease: the lease.
    ///   - created: the revision that created the key.
    ///   - asked: when the lease was asked for: it ends no sooner than its lifetime after that.
    ///   - record: what the record was at that revision.
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

    /// What the record was when the lock was taken; once.
    func takeRecord() -> EtcdKeyValue?? {
        state.withLock { state in
            defer { state.record = nil }
            return state.record
        }
    }

    /// Goes on with another lock of the same family, after this one's lease has ended.
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

    /// - Returns: whether to go on; a lease that has ended does not come back.
    private func keepAlive() async -> Bool {
        let lease = state.withLock { $0.isReleased ? nil : $0.lease }
        guard let lease else { return false }
        let asked = client.clock.now
        do {
            let answer: EtcdStreamed<EtcdLeaseAnswer> = try await client.ask(
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
        // Its own task: who releases a lock does not wait, and a lease that is left ends by itself.
        begin { client in
            struct Nothing: Decodable {}
            do throws(EtcdFault) {
                let _: Nothing = try await client.ask(
                    "lease/revoke",
                    EtcdLeaseID(ID: EtcdNumber(lease))
                )
            } catch {
                // It ends by itself.
            }
        }
    }
}
