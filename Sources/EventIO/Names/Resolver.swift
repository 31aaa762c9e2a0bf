import CLibevent
import Glibc
import Synchronization
import System

/// Finds the addresses of host names on its own threads: neither a loop nor another name waits for
/// a slow name server.
///
/// Callers that ask for the same name at the same time share one lookup. A name that no caller
/// waits for any longer is not looked up. While name servers fail, an old answer is used for an
/// hour.
// SAFETY: everything is under the mutex; the semaphore counts the names that were added to it.
@safe package final class Resolver: @unchecked Sendable {
    /// The resolver of the process.
    package static let shared = Resolver(NameLookup.addresses)

    /// How long an answer is used, in nanoseconds: 30 s, like nginx with `valid=30s`.
    private static let lifetime: UInt64 = 30_000_000_000
    /// How long it is used after that while name servers fail: one hour, where RFC 8767 allows
    /// days.
    private static let staleness: UInt64 = 3_600_000_000_000
    /// How long an old answer is used before the name servers are asked again: 5 s.
    private static let reprieve: UInt64 = 5_000_000_000
    /// How long a caller that could use an old answer waits for a new one.
    private static let patience = Duration.seconds(1)
    /// Each dead name keeps one thread busy for as long as the system's resolver tries.
    private static let threadCount = 16

    private typealias Callback = @Sendable (Result<[SocketAddress], IOError>) -> Void

    private struct Answer {
        var addresses: [SocketAddress]
        var learned: UInt64
        var expiry: UInt64
    }

    /// A lookup, and the callers that wait for it.
    private struct Question {
        var waiting: [Int: Callback] = [:]
        /// Whether a thread has taken it.
        var isUnderWay = false
    }

    private struct State {
        var questions: [String: Question] = [:]
        /// The names that no thread has taken yet, in their order.
        var queue: [String] = []
        var answers: [String: Answer] = [:]
        var threads = 0
        var idle = 0
        var tickets = 0
    }

    private let lookUp: @Sendable (String) -> Result<[SocketAddress], NameLookup.Failure>
    private let now: @Sendable () -> UInt64
    private let state = Mutex(State())
    private let wake: UnsafeMutablePointer<sem_t>

    /// Makes a resolver; its threads never end.
    ///
    /// - Parameters:
    ///   - now: the clock by which answers age, in nanoseconds.
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
        // No thread is left: each keeps the resolver.
        unsafe sem_destroy(wake)
        unsafe wake.deallocate()
    }

    /// The addresses of a host name or of an IP address in text, in the order to try them.
    ///
    /// - Throws: `.unknownHost`, `.timedOut` at the deadline, or `.aborted` when the task is
    ///   cancelled.
    package func addresses(
        of host: String,
        port: UInt16,
        on loop: EventLoop,
        until deadline: UInt64
    ) async throws(IOError) -> [SocketAddress] {
        if let address = SocketAddress(ip: host, port: port) { return [address] }
        if let local = NameLookup.loopback(host) { return local.map { $0.with(port: port) } }
        let (known, present) = (state.withLock { $0.answers[host] }, now())
        if let known, known.expiry > present { return known.addresses.map { $0.with(port: port) } }
        let old = known.flatMap { $0.learned &+ Resolver.staleness > present ? $0 : nil }
        let waiter = LoopBound(ResolveWaiter(), on: loop)
        let ticket = ask(host) { result in loop.submit { waiter.value.finish(result) } }
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
            return old.addresses.map { $0.with(port: port) }
        }
        return try result.get().map { $0.with(port: port) }
    }

    /// Looks the name up again next time: connecting to its addresses failed.
    package func forget(_ host: String) {
        state.withLock { $0.answers[host]?.expiry = 0 }
    }

    // MARK: - Asking

    private func ask(_ host: String, _ answer: @escaping Callback) -> Int {
        let (ticket, startsThread, isNew) = state.withLock { state in
            state.tickets += 1
            let isNew = state.questions[host] == nil
            state.questions[host, default: Question()].waiting[state.tickets] = answer
            if isNew { state.queue.append(host) }
            guard state.queue.count > state.idle, state.threads < Resolver.threadCount else {
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
        // Threads that run take the question; without one, it has to be answered here.
        let orphans = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [Callback]() }
            let orphans = state.questions.values.flatMap(\.waiting.values)
            (state.questions, state.queue) = ([:], [])
            return orphans
        }
        let failure = IOError.unknownHost("cannot start a thread: \(describe(errno: code))")
        for answer in orphans { answer(.failure(failure)) }
    }

    /// Withdraws a caller; a question that no other caller waits for is dropped.
    private func leave(_ host: String, _ ticket: Int) {
        state.withLock { state in
            guard state.questions[host]?.waiting.removeValue(forKey: ticket) != nil,
                let question = state.questions[host], question.waiting.isEmpty, !question.isUnderWay
            else { return }
            state.questions[host] = nil
            state.queue.removeAll { $0 == host }
        }
    }

    /// Uses an old answer for a while before a caller waits for a new one again.
    private func postpone(_ host: String) {
        let expiry = now() &+ Resolver.reprieve
        state.withLock { $0.answers[host]?.expiry = expiry }
    }

    // MARK: - Answering

    /// Answers questions, on each thread, for ever.
    func serve() {
        while true {
            state.withLock { $0.idle += 1 }
            while unsafe sem_wait(wake) != 0 {}
            let host: String? = state.withLock { state in
                state.idle -= 1
                guard !state.queue.isEmpty else { return nil }
                let host = state.queue.removeFirst()
                state.questions[host]?.isUnderWay = true
                return host
            }
            guard let host else { continue }
            answer(host, with: lookUp(host))
        }
    }

    private func answer(
        _ host: String,
        with found: Result<[SocketAddress], NameLookup.Failure>
    ) {
        let now = now()
        let (result, waiting) = state.withLock { state in
            let waiting = state.questions.removeValue(forKey: host)?.waiting.values
            let result = Resolver.note(found, of: host, in: &state.answers, now)
            return (result, waiting.map(Array.init))
        }
        for answer in waiting ?? [] { answer(result) }
    }

    private static func note(
        _ found: Result<[SocketAddress], NameLookup.Failure>,
        of host: String,
        in answers: inout [String: Answer],
        _ now: UInt64
    ) -> Result<[SocketAddress], IOError> {
        switch found {
        case .success(let addresses):
            if answers.count > 1024 { answers.removeAll() }
            answers[host] = Answer(addresses: addresses, learned: now, expiry: now &+ lifetime)
            return .success(addresses)
        case .failure(let failure):
            guard failure.mayPass, let old = answers[host], old.learned &+ staleness > now else {
                answers[host] = nil
                return .failure(.unknownHost(failure.reason))
            }
            answers[host]?.expiry = now &+ reprieve
            return .success(old.addresses)
        }
    }
}

/// One task that waits for an answer, until its deadline.
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
