import CNetproxyLibevent
import Glibc
import NetproxySystem
import Synchronization

/// Finds the addresses of host names on its own threads.
///
/// A slow name server delays neither a loop nor another name. Callers that need the same name at the same
/// time share one lookup. A name that nobody waits for any more is not looked up. While name servers fail, an
/// old result remains valid for one hour. Names from clients use at most half of the threads, so that a name
/// from the configuration never waits for them.
// SAFETY: a mutex guards all state; the semaphore counts the names added under it.
@safe package final class Resolver: @unchecked Sendable {
    /// The resolver of the process.
    package static let shared = Resolver(NameLookup.addresses)

    /// The lifetime of a result, in nanoseconds: 30 s, like nginx with `valid=30s`.
    private static let lifetime: UInt64 = 30_000_000_000
    /// The time for which an expired result is used while name servers fail: one hour; RFC 8767 allows days.
    private static let staleness: UInt64 = 3_600_000_000_000
    /// The time for which an old result is used before the next lookup: 5 s.
    private static let reprieve: UInt64 = 5_000_000_000
    /// The longest wait for a new result if an old one exists.
    private static let patience = Duration.seconds(1)
    /// The maximum number of threads.
    ///
    /// Each dead name occupies one thread until the system's resolver gives up.
    private static let threadCount = 16
    /// The maximum number of threads that look up names from clients.
    private static let threadsForApps = 8

    /// The source of a name.
    package enum Source: Sendable, Hashable {
        /// The configuration, or the program itself: few names, which matter most.
        case configuration
        /// A client's request: any number of names, some of them dead.
        case app
    }

    private typealias Callback = @Sendable (Result<[SocketAddress], IOError>) -> Void

    /// A lookup, and the callers that wait for it.
    private struct Question {
        var waiting: [Int: Callback] = [:]
        /// Whether a thread has started the lookup.
        var isUnderWay = false
        /// The source of the name; the configuration, if it requests the name before the lookup starts.
        var source: Source
    }

    private struct State {
        var questions: [String: Question] = [:]
        /// The names that wait for a thread, in order.
        var queue: [String] = []
        /// The names from clients that wait for a thread, in order.
        var queueOfApps: [String] = []
        var names = ResolvedNames()
        var threads = 0
        var idle = 0
        /// The number of threads that are looking up names from clients.
        var busyForApps = 0
        var tickets = 0

        /// The number of names that a thread could look up now.
        var ready: Int {
            queue.count + min(queueOfApps.count, Resolver.threadsForApps - busyForApps)
        }

        /// Returns the next name that a thread may look up, if there is one.
        mutating func takeNext() -> (host: String, source: Source)? {
            let next: (host: String, source: Source)
            if !queue.isEmpty {
                next = (queue.removeFirst(), .configuration)
            } else if !queueOfApps.isEmpty, busyForApps < Resolver.threadsForApps {
                next = (queueOfApps.removeFirst(), .app)
                busyForApps += 1
            } else {
                return nil
            }
            questions[next.host]?.isUnderWay = true
            return next
        }

        /// Adds a name to the queue of its source.
        ///
        /// A queued name from a client moves to the other queue if the configuration also requests it.
        mutating func line(up host: String, for source: Source) -> Bool {
            guard let question = questions[host] else {
                questions[host] = Question(source: source)
                if source == .app { queueOfApps.append(host) } else { queue.append(host) }
                return true
            }
            guard question.source == .app, source == .configuration, !question.isUnderWay
            else { return false }
            questions[host]?.source = source
            queueOfApps.removeAll { $0 == host }
            queue.append(host)
            return true
        }
    }

    private let lookUp: @Sendable (String) -> Result<[SocketAddress], NameLookup.Failure>
    private let now: @Sendable () -> UInt64
    private let state = Mutex(State())
    private let wake: UnsafeMutablePointer<sem_t>

    /// Creates a resolver; its threads never end.
    ///
    /// - Parameters:
    ///   - now: the clock for the age of results, in nanoseconds.
    ///   - lookUp: finds the addresses of a name, without a port; may block.
    package init(
        now: @escaping @Sendable () -> UInt64 = monotonicNanoseconds,
        _ lookUp: @escaping @Sendable (String) -> Result<[SocketAddress], NameLookup.Failure>
    ) {
        self.now = now
        self.lookUp = lookUp
        unsafe wake = .allocate(capacity: 1)
        unsafe sem_init(wake, 0, 0)
    }

    deinit {
        // No threads are left, since each of them retains the resolver.
        unsafe sem_destroy(wake)
        unsafe wake.deallocate()
    }

    /// Returns the addresses of a host name or of an IP address in text form, in order of preference.
    ///
    /// - Parameters:
    ///   - host: the name or the address.
    ///   - port: the port of the returned addresses.
    ///   - source: the source of the name.
    ///   - maximumAge: the maximum age of a cached result; `nil` for the default lifetime.
    ///   - loop: the loop on which the caller waits.
    ///   - deadline: the deadline, on the loop's clock.
    /// - Returns: at least one address.
    /// - Throws: `.unknownHost`, `.timedOut` at the deadline, or `.aborted` if the task is canceled.
    package func addresses(
        of host: String,
        port: UInt16,
        for source: Source = .configuration,
        maximumAge: Duration? = nil,
        on loop: EventLoop,
        until deadline: UInt64
    ) async throws(IOError) -> [SocketAddress] {
        if let address = SocketAddress(ip: host, port: port) { return [address] }
        if let local = NameLookup.loopback(host) { return local.map { $0.with(port: port) } }
        let present = now()
        let known = state.withLock { state in
            state.names.claim(host, by: source)
            return state.names[host]
        }
        if let known, known.expiry > present,
            present &- known.learned <= maximumAge?.nanoseconds ?? .max
        {
            return known.inOrder.map { $0.with(port: port) }
        }
        let old = known.flatMap { $0.learned &+ Resolver.staleness > present ? $0 : nil }
        let waiter = LoopBound(ResolveWaiter(), on: loop)
        let ticket = ask(host, for: source) { result in loop.submit { waiter.value.finish(result) }
        }
        let limit = old == nil ? deadline : min(deadline, loop.deadline(after: Resolver.patience))
        loop.schedule(waiter.value, at: limit)
        let result = await withTaskCancellationHandler {
            await waiter.value.wait()
        } onCancel: {
            loop.submit { waiter.value.finish(.failure(.aborted)) }
        }
        loop.remove(waiter.value)
        leave(host, ticket)
        if let old, result == .failure(.timedOut) {
            postpone(host)
            return old.inOrder.map { $0.with(port: port) }
        }
        return try result.get().map { $0.with(port: port) }
    }

    /// Expires the result for a name after its addresses could not be reached.
    package func forget(_ host: String) {
        state.withLock { state in
            state.names.change(host) { ($0.expiry, $0.preferred) = (0, nil) }
        }
    }

    /// Prefers this address of the name from now on, after a successful connection.
    package func prefer(_ address: SocketAddress, of host: String) {
        let address = address.with(port: 0)
        state.withLock { state in
            guard state.names[host]?.preferred != address else { return }
            state.names.change(host) { $0.preferred = address }
        }
    }

    // MARK: - Requests

    private func ask(_ host: String, for source: Source, _ answer: @escaping Callback) -> Int {
        let (ticket, startsThread, isNew) = state.withLock { state in
            state.tickets += 1
            let isNew = state.line(up: host, for: source)
            state.questions[host]?.waiting[state.tickets] = answer
            guard state.ready > state.idle, state.threads < Resolver.threadCount else {
                return (state.tickets, false, isNew)
            }
            state.threads += 1
            return (state.tickets, true, isNew)
        }
        if startsThread { startServing() }
        if isNew { unsafe sem_post(wake) }
        return ticket
    }

    private func startServing() {
        let code = startThread(named: "resolver") { self.serve() }
        guard code != 0 else { return }
        // Running threads handle the lookup; without any, it fails here.
        let orphans = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [Callback]() }
            let orphans = state.questions.values.flatMap(\.waiting.values)
            (state.questions, state.queue, state.queueOfApps) = ([:], [], [])
            return orphans
        }
        let failure = IOError.unknownHost("cannot start a thread: \(describe(errno: code))")
        for answer in orphans { answer(.failure(failure)) }
    }

    /// Withdraws a caller; drops the lookup if no other caller waits for it.
    private func leave(_ host: String, _ ticket: Int) {
        state.withLock { state in
            guard state.questions[host]?.waiting.removeValue(forKey: ticket) != nil,
                let question = state.questions[host], question.waiting.isEmpty, !question.isUnderWay
            else { return }
            state.questions[host] = nil
            state.queue.removeAll { $0 == host }
            state.queueOfApps.removeAll { $0 == host }
        }
    }

    /// Uses an old result for some time before a caller waits for a new one again.
    private func postpone(_ host: String) {
        let expiry = now() &+ Resolver.reprieve
        state.withLock { state in state.names.change(host) { $0.expiry = expiry } }
    }

    // MARK: - Lookups

    /// Performs lookups on each thread, without end.
    func serve() {
        while true {
            state.withLock { $0.idle += 1 }
            while unsafe sem_wait(wake) != 0 {}
            state.withLock { $0.idle -= 1 }
            // Handle all available names: another thread may have left one that came from a client.
            while let next = state.withLock({ $0.takeNext() }) {
                answer(next.host, for: next.source, with: lookUp(next.host))
            }
        }
    }

    private func answer(
        _ host: String,
        for source: Source,
        with found: Result<[SocketAddress], NameLookup.Failure>
    ) {
        let now = now()
        let (result, waiting) = state.withLock { state in
            if source == .app { state.busyForApps -= 1 }
            let question = state.questions.removeValue(forKey: host)
            let result = Resolver.note(found, of: host, for: source, in: &state.names, now)
            return (result, question.map { Array($0.waiting.values) })
        }
        for answer in waiting ?? [] { answer(result) }
    }

    private static func note(
        _ found: Result<[SocketAddress], NameLookup.Failure>,
        of host: String,
        for source: Source,
        in names: inout ResolvedNames,
        _ now: UInt64
    ) -> Result<[SocketAddress], IOError> {
        switch found {
        case .success(let addresses):
            names.store(
                addresses,
                of: host,
                for: source,
                learned: now,
                expiry: now &+ lifetime
            )
            return .success(names[host]?.inOrder ?? addresses)
        case .failure(let failure):
            guard failure.persistence == .temporary, let old = names[host],
                old.learned &+ staleness > now
            else {
                names.remove(host)
                return .failure(.unknownHost(failure.reason))
            }
            names.change(host) { $0.expiry = now &+ reprieve }
            return .success(old.inOrder)
        }
    }
}

/// One task that waits for a result until its deadline.
private final class ResolveWaiter: TimerEntry {
    private var result: Result<[SocketAddress], IOError>?
    private var continuation: CheckedContinuation<Void, Never>?

    func wait() async -> Result<[SocketAddress], IOError> {
        if result == nil { await withCheckedContinuation { continuation = $0 } }
        return result ?? .failure(.timedOut)
    }

    func finish(_ answer: Result<[SocketAddress], IOError>) {
        guard result == nil else { return }
        result = answer
        continuation?.resume()
        continuation = nil
    }

    override func fire() { finish(.failure(.timedOut)) }
}
