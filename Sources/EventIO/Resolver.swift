import CLibevent
import Glibc
import Synchronization

/// Finds the addresses of a host name with the system's resolver, on threads of its own: one slow
/// name server never holds up a loop.
// SAFETY: the queue is only touched under the mutex; the condition belongs to it.
@safe package final class Resolver: @unchecked Sendable {
    /// The resolver of the process.
    package static let shared = Resolver()

    /// How long an answer is used, in nanoseconds: 30 s, like nginx with `valid=30s`.
    private static let lifetime: UInt64 = 30_000_000_000
    private static let threadCount = 2

    private struct Question {
        let host: String
        let port: UInt16
        let answer: @Sendable (Result<[SocketAddress], IOError>) -> Void
    }

    private struct State {
        var questions: [Question] = []
        var answers: [String: (addresses: [SocketAddress], expiry: UInt64)] = [:]
        var threads = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let wake: UnsafeMutablePointer<sem_t>

    private init() {
        unsafe wake = .allocate(capacity: 1)
        unsafe sem_init(wake, 0, 0)
    }

    /// The addresses of a host name or of an IP address in text, in the order to try them.
    ///
    /// - Throws: `.unknownHost`, or `.timedOut` at the deadline (the question goes on and its answer
    ///   is kept).
    package func addresses(
        of host: String,
        port: UInt16,
        on loop: EventLoop,
        until deadline: UInt64
    ) async throws(IOError) -> [SocketAddress] {
        if let address = SocketAddress(ip: host, port: port) { return [address] }
        if let known = cached(host, port, now: loop.now) { return known }
        let waiter = LoopBound(ResolveWaiter(), on: loop)
        ask(
            Question(host: host, port: port) { result in
                loop.submit { waiter.value.finish(result) }
            }
        )
        loop.schedule(waiter.value, at: deadline)
        defer { loop.remove(waiter.value) }
        return try await waiter.value.wait()
    }

    /// Forgets what is known of a name: connecting to its addresses failed.
    package func forget(_ host: String) {
        state.withLock { $0.answers[host] = nil }
    }

    private func cached(_ host: String, _ port: UInt16, now: UInt64) -> [SocketAddress]? {
        state.withLock { state in
            guard let answer = state.answers[host], answer.expiry > now else { return nil }
            return answer.addresses.map { $0.with(port: port) }
        }
    }

    private func ask(_ question: Question) {
        let startsThread = state.withLock { state in
            state.questions.append(question)
            guard state.idle == 0, state.threads < Resolver.threadCount else { return false }
            state.threads += 1
            return true
        }
        if startsThread {
            unsafe startThread(
                named: "resolver",
                resolverThread,
                Unmanaged.passRetained(self).toOpaque()
            )
        }
        unsafe sem_post(wake)
    }

    func serve() {
        while true {
            state.withLock { $0.idle += 1 }
            while unsafe sem_wait(wake) != 0 {}
            let question = state.withLock { state in
                state.idle -= 1
                return state.questions.isEmpty ? nil : state.questions.removeFirst()
            }
            guard let question else { continue }
            let result = Resolver.lookUp(question.host, question.port)
            if case .success(let addresses) = result {
                let expiry = monotonicNanoseconds() + Resolver.lifetime
                state.withLock { state in
                    if state.answers.count > 1024 { state.answers.removeAll() }
                    state.answers[question.host] = (addresses, expiry)
                }
            }
            question.answer(result)
        }
    }

    private static func lookUp(
        _ host: String,
        _ port: UInt16
    ) -> Result<[SocketAddress], IOError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            let reason = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
            return .failure(.unknownHost(reason ?? "unknown name"))
        }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            var storage = sockaddr_storage()
            // SAFETY: getaddrinfo tells the length of the address, which fits the storage.
            unsafe memcpy(&storage, entry.pointee.ai_addr, Int(entry.pointee.ai_addrlen))
            if let address = SocketAddress(storage)?.with(port: port), !found.contains(address) {
                found.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty ? .failure(.unknownHost("no address")) : .success(found)
    }
}

/// One task that waits for an answer, until its deadline.
private final class ResolveWaiter: TimerEntry {
    private var result: Result<[SocketAddress], IOError>?
    private var continuation: CheckedContinuation<Void, Never>?

    func wait() async throws(IOError) -> [SocketAddress] {
        if result == nil { await withCheckedContinuation { continuation = $0 } }
        return try (result ?? .failure(.timedOut)).get()
    }

    func finish(_ answer: Result<[SocketAddress], IOError>) {
        guard result == nil else { return }
        result = answer
        continuation?.resume()
        continuation = nil
    }

    override func fire() { finish(.failure(.timedOut)) }
}

extension SocketAddress {
    /// The same address with another port.
    func with(port: UInt16) -> SocketAddress {
        guard case .ip(let bytes, _) = kind else { return self }
        return SocketAddress(kind: .ip(bytes: bytes, port: port))
    }

    init(kind: Kind) {
        self.kind = kind
    }
}
