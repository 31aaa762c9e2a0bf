import FoundationEssentials
package import NetworkCore
package import OAuth
import Synchronization

/// Stores the tokens of a grant family in etcd, which many machines share.
///
/// `PREFIX/FAMILY/record` holds the sealed record, `PREFIX/FAMILY/lock` exists while a machine renews.
/// Every write is a transaction on the revision that created the lock and on the revision of the
/// record, so a holder that was stopped or cut off for longer than its lease never overwrites a newer
/// token. A watch brings the records of others. Times are stored by the members' clocks, so that a
/// machine whose own clock is wrong neither throws good tokens away nor keeps bad ones.
package final class EtcdTokenStore: TokenStoring {
    /// The time for which a wait for the lock relies on the watch before it reads the lock.
    private static let reliance = (watched: Duration.seconds(5), blind: Duration.seconds(1))

    private struct Seen {
        /// The revision of etcd that wrote the record; 0: there was none.
        var written: Int64 = 0
        /// The record's own count.
        var revision = 0
    }

    private struct State {
        var seen: Seen?
        var held: HeldLock?
    }

    private let client: EtcdClient
    private let watch: FamilyWatch
    private let seal: TokenSeal
    private let holder: String
    private let highest: RevisionFile?
    private let state = Mutex(State())
    private var keys: FamilyWatch.Keys { watch.keys }

    /// Names the family; nothing is sent yet.
    init(
        _ watch: FamilyWatch,
        sealing seal: TokenSeal,
        as holder: String,
        remembering highest: RevisionFile?,
        by client: EtcdClient
    ) {
        (self.client, self.watch, self.seal, self.holder) = (client, watch, seal, holder)
        self.highest = highest
    }

    /// Yes: many machines use it.
    package var isShared: Bool { true }

    /// No: it awaits etcd's responses.
    package var mayBlock: Bool { false }

    // MARK: - The lock

    /// Takes the lock.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `.unreadable` if etcd does not serve,
    ///   `CancellationError`.
    package func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        while true {
            if let lock = try await acquire(until: deadline, clock, .always) {
                return lock
            }
        }
    }

    /// Takes the lock, unless another machine has stored a record meanwhile.
    ///
    /// - Throws: as `lock(until:clock:)`.
    package func lockUnlessChanged(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock? {
        try await acquire(until: deadline, clock, .unlessChanged)
    }

    private enum LockCondition {
        case always
        /// Not if another machine has stored a record meanwhile.
        case unlessChanged
    }

    private func acquire(
        until deadline: ContinuousClock.Instant,
        _ clock: any NetworkClock,
        _ condition: LockCondition
    ) async throws -> TokenStoreLock? {
        watch.join()
        defer { watch.leave() }
        var looksForItself = false
        while true {
            try Task.checkCancellation()
            let (watched, serial) = watch.current
            // Reading costs etcd less than trying: thousands of machines may want the lock of one.
            let view: FamilyWatch.View
            if let watched, !looksForItself {
                view = watched
            } else {
                do throws(EtcdFault) { view = try await watch.look() } catch {
                    throw error.storeError
                }
            }
            if condition == .unlessChanged, isNews(view.record) { return nil }
            if view.lock == nil, let held = try await attempt() { return grant(held) }
            guard clock.now < deadline else { throw TokenStoreError.locked(words(of: view.lock)) }
            let reliance = watched == nil ? Self.reliance.blind : Self.reliance.watched
            let limit = min(clock.now + reliance, deadline)
            await watch.change(since: serial, until: limit)
            looksForItself = clock.now >= limit
            if view.lock != nil { await letOthersGoFirst(until: deadline, clock) }
        }
    }

    /// The lock, with the machine that has it.
    private func words(of lock: EtcdKeyValue?) -> String {
        let name = name(of: keys.lock)
        guard let value = lock?.value,
            let holder = try? TokenSeal.open(Array(value), family: name, with: seal)
        else { return name }
        return "\(name) (\(String(decoding: holder, as: UTF8.self)))"
    }

    /// Waits for a moment after the lock has become free: those that waited do not all come at once, and
    /// see the lock of the first.
    private func letOthersGoFirst(
        until deadline: ContinuousClock.Instant,
        _ clock: any NetworkClock
    ) async {
        let (view, serial) = watch.current
        guard let view, view.lock == nil else { return }
        let pause = Duration.milliseconds(Int64.random(in: 0..<100))
        await watch.change(since: serial, until: min(clock.now + pause, deadline))
    }

    /// Tries once to take the lock.
    ///
    /// - Returns: `nil` if another machine has it.
    private func attempt() async throws(TokenStoreError) -> HeldLock? {
        var granted: Int64?
        do {
            let asked = client.clock.now
            let lease: EtcdLeaseResponse = try await client.send(
                "lease/grant",
                EtcdLeaseGrant(TTL: EtcdNumber(HeldLock.lifetime.components.seconds))
            )
            guard let id = lease.ID?.value else {
                throw EtcdFault(.unexpected, "a lease without an id was granted")
            }
            granted = id
            let answer: EtcdTransactionResponse = try await client.send(
                "kv/txn",
                EtcdTransaction(
                    compare: [.created(keys.lock, at: 0)],
                    success: [
                        .put(keys.lock, sealed(Array(holder.utf8), for: keys.lock), lease: id),
                        .get(keys.record),
                    ],
                    failure: [.get(keys.lock), .get(keys.record)]
                )
            )
            let record = answer.read(keys.record)
            let lock = answer.read(keys.lock)
            // Or our own, if the response to a first transaction was lost.
            let own = lock?.lease?.value == id ? lock?.create_revision?.value : nil
            if let created = answer.succeeded == true ? answer.revision : own {
                return HeldLock(
                    lease: id,
                    created: created,
                    asked: asked,
                    record: record,
                    by: client
                )
            }
            client.revoke(id)
            watch.note(record: record, lock: lock, at: answer.revision)
            return nil
        } catch {
            // The transaction may be applied nevertheless.
            if let granted { client.revoke(granted) }
            throw (error as? EtcdFault)?.storeError ?? .unreadable("\(error)")
        }
    }

    private func grant(_ held: HeldLock) -> TokenStoreLock {
        state.withLock { $0.held = held }
        return TokenStoreLock(
            holds: { held.isHeld },
            onRelease: { held.release() }
        )
    }

    private var lockName: String { name(of: keys.lock) }

    // MARK: - Reading

    /// Reads the record without a change.
    ///
    /// - Throws: `TokenStoreError.unreadable`, also for the record of another program or key.
    package func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        if lock != nil, let found = state.withLock({ $0.held })?.takeRecord() {
            return try see(found)
        }
        do {
            let found: EtcdRangeResponse = try await client.send(
                "kv/range",
                EtcdRange(key: keys.record)
            )
            // A delayed watch would report it as news a second time.
            watch.note(written: found.kvs?.first, at: found.revision)
            return try see(found.kvs?.first)
        } catch let fault as EtcdFault {
            throw fault.storeError
        }
    }

    /// Remembers the found record, and decodes it.
    private func see(_ found: EtcdKeyValue?) throws(TokenStoreError) -> TokenRecord? {
        let record = try decode(found)
        let written = found?.mod_revision?.value ?? 0
        state.withLock { $0.seen = Seen(written: written, revision: record?.revision ?? 0) }
        return record
    }

    private func decode(_ found: EtcdKeyValue?) throws(TokenStoreError) -> TokenRecord? {
        guard let found else { return nil }
        // Empty values are left out of JSON, and are not records either.
        let value = found.value ?? Data()
        let name = name(of: found.key)
        do {
            let record = try TokenRecord(sealed: Array(value), for: name, by: seal)
            client.noteSuccess { $0.kind == .foreign && $0.detail.hasPrefix("\(name): ") }
            return record.moved(by: difference(of: record, found))
        } catch {
            let fault = EtcdFault(.foreign, "\(name): \(error)")
            client.note(fault)
            throw fault.storeError
        }
    }

    /// The lead of this machine's clock over the times in a record: by the time at which the watch
    /// reported it, or else by the members' clocks, which are known to a second.
    private func difference(of record: TokenRecord, _ found: EtcdKeyValue) -> Duration {
        let known = .zero - client.serverClock.offset
        guard let slot = watch.current.view?.recordSlot, let arrival = slot.arrival,
            slot.value?.mod_revision == found.mod_revision, let saved = record.savedAt
        else { return known }
        // A delayed watch reports old news.
        let exact = arrival - saved
        let blur = Duration.milliseconds(1500)
        return exact - known < blur && known - exact < blur ? exact : known
    }

    private func isNews(_ record: EtcdKeyValue?) -> Bool {
        let seen = state.withLock { $0.seen?.written }
        return (record?.mod_revision?.value ?? 0) != seen ?? 0
    }

    private func name(of key: Data) -> String { String(decoding: key, as: UTF8.self) }

    private func sealed(_ content: [UInt8], for key: Data) throws -> Data {
        Data(try seal.seal(content, family: name(of: key)))
    }

    // MARK: - Writing

    /// Replaces the record, if the lock is held and the record has not changed since it was read.
    ///
    /// - Throws: `TokenStoreError.conflict` if another machine has written; `.unreadable` if etcd does not
    ///   serve, or another machine has the lock.
    package func save(_ record: TokenRecord, replacing revision: Int) async throws {
        let seen = try expected(revision)
        // By the members' clocks: another machine's own may be wrong.
        var stored = record
        stored.savedAt = client.clock.wallNow
        stored = stored.moved(by: client.serverClock.offset)
        let value = Data(try stored.sealed(for: name(of: keys.record), by: seal))
        let written = try await write(
            .put(keys.record, value),
            over: seen,
            isDone: { $0?.value == value }
        )
        note(Seen(written: written, revision: record.revision), value)
    }

    /// Remembers the written record before the watch reports it.
    private func note(_ seen: Seen, _ value: Data?) {
        state.withLock { $0.seen = seen }
        let record = value.map { value in
            EtcdKeyValue(key: keys.record, value: value, mod_revision: EtcdNumber(seen.written))
        }
        watch.note(written: record, at: seen.written)
    }

    /// Returns the highest revisions that this machine has used.
    package func revisions() async -> [String: Int] { await highest?.read() ?? [:] }

    /// Keeps the highest revisions on this machine.
    package func keepRevisions(_ revisions: [String: Int]) async {
        await highest?.write(revisions)
    }

    private func expected(_ revision: Int) throws(TokenStoreError) -> Seen {
        guard let seen = state.withLock({ $0.seen }), seen.revision == revision else {
            throw .conflict
        }
        return seen
    }

    /// Writes under the lock; once more under a new one if only the lease has ended, and no other machine
    /// has done anything since.
    ///
    /// - Parameters:
    ///   - step: the write.
    ///   - seen: the replaced record.
    ///   - isDone: whether the stored record shows that an earlier attempt was applied.
    /// - Returns: the revision of the record.
    /// - Throws: `TokenStoreError.conflict`, `.unreadable`.
    private func write(
        _ step: EtcdOperation,
        over seen: Seen,
        isDone: (EtcdKeyValue?) -> Bool
    ) async throws(TokenStoreError) -> Int64 {
        guard let held = state.withLock({ $0.held }), var created = held.created else {
            throw .unreadable("etcd: the lock \(lockName) is not held")
        }
        for attempt in 0..<2 {
            let answer: EtcdTransactionResponse
            do {
                answer = try await client.send(
                    "kv/txn",
                    EtcdTransaction(
                        compare: [
                            .created(keys.lock, at: created),
                            .written(keys.record, at: seen.written),
                        ],
                        success: [step],
                        failure: [.get(keys.record), .get(keys.lock)]
                    )
                )
            } catch {
                throw error.storeError
            }
            if answer.succeeded == true { return answer.revision }
            let record = answer.read(keys.record)
            watch.note(record: record, lock: answer.read(keys.lock), at: answer.revision)
            let written = record?.mod_revision?.value ?? 0
            if isDone(record), written != seen.written { return written }
            guard written == seen.written else { throw .conflict }
            guard attempt == 0, let other = try await self.attempt(), let next = other.created
            else { break }
            held.replace(by: other)
            created = next
        }
        client.note(EtcdFault(.leaseLost, "the lease of \(lockName) has ended"))
        throw .unreadable("etcd: another machine has taken the lock \(lockName)")
    }

    // MARK: - Following

    /// The records of other machines; one with an open note of a renewal only after no machine works on
    /// it.
    package func changes() -> AsyncStream<TokenRecord?>? {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { [watch] continuation in
            watch.join()
            // Its own task: it ends with its reader, or with the store.
            let task = Task { [weak self] in
                defer { continuation.finish() }
                var before: FamilyWatch.View?
                var serial = -1
                while !Task.isCancelled {
                    await watch.change(since: serial)
                    let (view, now) = watch.current
                    serial = now
                    guard let view, view.isNews(after: before) else { continue }
                    before = view
                    guard let self else { return }
                    do throws(TokenStoreError) {
                        let record = try decode(view.record)
                        if record?.intent == nil || view.lock == nil { continuation.yield(record) }
                    } catch {
                        // Reported when the record is read; the token in force stays in force.
                    }
                }
            }
            continuation.onTermination = { _ in
                task.cancel()
                watch.leave()
            }
        }
    }
}

extension FamilyWatch.View {
    /// Whether the record is another one, or the machine that worked on it has let go of the lock.
    fileprivate func isNews(after before: FamilyWatch.View?) -> Bool {
        guard let before else { return true }
        return record != before.record || (before.lock != nil && lock == nil)
    }
}
