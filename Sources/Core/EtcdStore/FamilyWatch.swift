import FoundationEssentials
import NetworkCore
import Synchronization

/// The keys of one grant family in etcd, kept up to date by a watch while someone follows it.
///
/// All stores of a family in this process share it, with one stream for each family.
final class FamilyWatch: Sendable {
    /// A key at its last known revision of the database.
    struct Slot: Sendable, Equatable {
        var revision: Int64
        var value: EtcdKeyValue?
        /// The time at which the watch reported it, if it did.
        var arrival: UnixTime?

        /// Takes another state of the key, unless it is an older one.
        mutating func take(
            _ value: EtcdKeyValue?,
            at revision: Int64,
            arriving arrival: UnixTime? = nil
        ) {
            guard revision >= self.revision else { return }
            let known = value?.mod_revision == self.value?.mod_revision ? self.arrival : nil
            self = Slot(revision: revision, value: value, arrival: arrival ?? known)
        }
    }

    /// The two keys of a family.
    struct View: Sendable, Equatable {
        var recordSlot: Slot
        var lockSlot: Slot

        init(record: EtcdKeyValue?, lock: EtcdKeyValue?, at revision: Int64) {
            recordSlot = Slot(revision: revision, value: record)
            lockSlot = Slot(revision: revision, value: lock)
        }

        var record: EtcdKeyValue? { recordSlot.value }
        var lock: EtcdKeyValue? { lockSlot.value }
    }

    /// The keys of a family.
    struct Keys: Sendable {
        let record: Data
        let lock: Data
        /// The common prefix of both keys, and the end of its range.
        let range: EtcdRange

        init(prefix: String, family: String) {
            let start = "\(prefix)\(family)/"
            record = Data("\(start)record".utf8)
            lock = Data("\(start)lock".utf8)
            // The byte after the slash.
            range = EtcdRange(key: Data(start.utf8), range_end: Data("\(start.dropLast())0".utf8))
        }
    }

    /// The pause before a watch that failed is made again, which doubles up to the second one.
    private static let pauses = (least: Duration.milliseconds(250), most: Duration.seconds(15))

    private struct State {
        /// The keys; `nil` while no watch is up.
        var view: View?
        /// Counts the changes.
        var serial = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextID = 0
        var followers = 0
        var task: Task<Void, Never>?
        /// The task that may set the view: an ended one may still try.
        var run = 0
    }

    let keys: Keys
    private let client: EtcdClient
    private let state = Mutex(State())

    init(_ keys: Keys, by client: EtcdClient) {
        (self.keys, self.client) = (keys, client)
    }

    /// The keys, and the number of changes so far; no view while no watch is up.
    var current: (view: View?, serial: Int) { state.withLock { ($0.view, $0.serial) } }

    // MARK: - Followers

    /// Has the watch run, until `leave()` is called as often.
    func join() {
        state.withLock { state in
            state.followers += 1
            guard state.task == nil else { return }
            state.run += 1
            // Its own task: it serves all that follow, and ends with the last.
            state.task = Task { [weak self, client, run = state.run] in
                var attempt = 0
                while !Task.isCancelled {
                    let began = client.clock.now
                    await self?.follow(as: run)
                    self?.lose(run)
                    // A stream that has lasted is made again at once; the members may be restarting.
                    attempt = client.clock.now - began > .seconds(30) ? 0 : attempt + 1
                    let pause = FamilyWatch.pause(before: attempt)
                    do { try await client.clock.sleep(until: client.clock.now + pause) } catch {
                        return
                    }
                }
            }
        }
    }

    /// Leaves the followers of the watch.
    func leave() {
        let ended = state.withLock { state -> Task<Void, Never>? in
            state.followers -= 1
            guard state.followers == 0 else { return nil }
            defer { state.task = nil }
            return state.task
        }
        guard let ended else { return }
        ended.cancel()
        lose(nil)
    }

    private static func pause(before attempt: Int) -> Duration {
        let ceiling = min(pauses.least * (1 << min(attempt, 10)), pauses.most)
        // Full jitter: all machines lose their watches at the same moment.
        return ceiling * Double.random(in: 0..<1)
    }

    /// Returns when something has changed since `serial`, or at the limit.
    func change(since serial: Int, until limit: ContinuousClock.Instant) async {
        let id = newID()
        let timer = Task { [weak self, clock = client.clock] in
            do { try await clock.sleep(until: limit) } catch { return }
            self?.wake(id)
        }
        await change(since: serial, as: id, until: limit)
        timer.cancel()
    }

    /// Returns when something has changed since `serial`.
    func change(since serial: Int) async { await change(since: serial, as: newID(), until: nil) }

    private func newID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Returns at a change, when it is woken, or when the task is cancelled.
    private func change(
        since serial: Int,
        as id: Int,
        until limit: ContinuousClock.Instant?
    ) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The timer may have been faster.
                    let isLate = limit.map { $0 <= client.clock.now } ?? false
                    if state.serial != serial || isLate || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }

    // MARK: - The keys

    /// Stores both keys of a response at a revision; does nothing while no watch is up.
    func note(record: EtcdKeyValue?, lock: EtcdKeyValue?, at revision: Int64) {
        update { view in
            view?.recordSlot.take(record, at: revision)
            view?.lockSlot.take(lock, at: revision)
        }
    }

    /// Reads and stores both keys.
    func look() async throws(EtcdFault) -> View {
        let found = try await read()
        note(record: found.record, lock: found.lock, at: found.recordSlot.revision)
        return found
    }

    private func read() async throws(EtcdFault) -> View {
        let found: EtcdRangeResponse = try await client.send("kv/range", keys.range)
        let values = found.kvs ?? []
        return View(
            record: values.first { $0.key == keys.record },
            lock: values.first { $0.key == keys.lock },
            at: found.revision
        )
    }

    /// Takes note of the record as it was written, removed or read at a revision.
    func note(written record: EtcdKeyValue?, at revision: Int64) {
        update { $0?.recordSlot.take(record, at: revision) }
    }

    /// Takes the view away that a task has kept up to date.
    private func lose(_ run: Int?) { update(by: run) { $0 = nil } }

    private func update(by run: Int? = nil, _ change: (inout View?) -> Void) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard run == nil || run == state.run else { return [] }
            let before = state.view
            change(&state.view)
            guard
                state.view?.record != before?.record || state.view?.lock != before?.lock
                    || (state.view == nil) != (before == nil)
            else { return [] }
            state.serial += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: - The stream

    /// Reads both keys, and follows the changes until the stream ends.
    private func follow(as run: Int) async {
        do throws(EtcdFault) {
            let found = try await read()
            update(by: run) { $0 = found }
            try await follow(from: found.recordSlot.revision + 1)
        } catch {
            // The client has reported the fault, unless the connection just ended. The stream is opened
            // again in any case.
        }
    }

    private func follow(from revision: Int64) async throws(EtcdFault) {
        guard let end = keys.range.range_end else { return }
        let request = EtcdWatchRequest(
            create_request: EtcdWatchRequest.Create(
                key: keys.range.key,
                range_end: end,
                start_revision: EtcdNumber(revision)
            )
        )
        var lines = try await client.stream("watch", request)
        defer { lines.cancel() }
        while let line = try await lines.next(), !Task.isCancelled {
            let answer: EtcdStreamed<EtcdWatchResponse>
            do {
                answer = try JSONDecoder().decode(
                    EtcdStreamed<EtcdWatchResponse>.self,
                    from: Data(line)
                )
            } catch {
                throw EtcdFault(.unexpected, "\(lines.member) sends a watch that makes no sense")
            }
            if let refusal = answer.error {
                let fault = EtcdFault(refusal, from: lines.member)
                client.note(fault)
                throw fault
            }
            guard let result = answer.result else { continue }
            apply(result)
            if result.canceled == true { return }
        }
    }

    private func apply(_ answer: EtcdWatchResponse) {
        guard let events = answer.events, !events.isEmpty else { return }
        update { view in
            for event in events {
                let revision = event.kv.mod_revision?.value ?? 0
                let value = event.isDeletion ? nil : event.kv
                if event.kv.key == keys.record {
                    view?.recordSlot.take(value, at: revision, arriving: client.clock.wallNow)
                }
                if event.kv.key == keys.lock { view?.lockSlot.take(value, at: revision) }
            }
        }
    }
}
