import FoundationEssentials
import NetworkCore
import NetworkTesting
import Synchronization
import TestSupport

/// An etcd without sockets: keys with revisions, leases, transactions and watches behind the JSON gateway,
/// and a script of mishaps.
final class EtcdModel: HTTPTransport {
    /// The fate of a request.
    enum Mishap: Sendable {
        /// None.
        case unharmed
        /// It is applied, and the response never arrives.
        case lostAnswer
        /// It is not applied: the member is unreachable.
        case unreachable
        /// It is not applied, and this is the response.
        case refused(code: Int, message: String)
    }

    struct Value: Sendable, Equatable {
        var bytes: Data
        var created: Int
        var written: Int
        var lease: Int?
    }

    fileprivate struct State {
        var revision = 1
        var values: [String: Value] = [:]
        var leases: [Int: ContinuousClock.Instant] = [:]
        var nextLease = 1000
        var requests: [(origin: Origin, path: String)] = []
        var mishaps: [String: [Mishap]] = [:]
        /// The fate of all requests to these members, or to all.
        var standing: [String: Mishap] = [:]
        var watchers: [(start: String, end: String, stream: WatchStream)] = []
        var isSilent = false
        /// The lines that a delayed watch has not delivered.
        var held: [(stream: WatchStream, line: String)]?
        /// The history, for watches that begin in the past.
        var history: [(revision: Int, key: String, line: String)] = []
        var tokens: Set<String>?
        var date: String?
        /// The actions after a number of requests for a path.
        var hooks: [String: (count: Int, body: @Sendable () -> Void)] = [:]
    }

    private let clock: any NetworkClock
    private let state = Mutex(State())

    init(clock: any NetworkClock) { self.clock = clock }

    // MARK: - Control by tests

    /// The requested paths, without `/v3/`.
    var paths: [String] { state.withLock { $0.requests.map(\.path) } }
    /// The number of requests for a path.
    func count(of path: String) -> Int { paths.count { $0 == path } }
    /// The members that got requests.
    var members: [Origin] { state.withLock { $0.requests.map(\.origin) } }
    var values: [String: Value] { state.withLock { $0.values } }
    var watcherCount: Int { state.withLock { $0.watchers.count } }

    /// The `Date` of the responses.
    var date: String? {
        get { state.withLock { $0.date } }
        set { state.withLock { $0.date = newValue } }
    }

    /// Sets the fate of the next requests for a path, in order.
    func script(_ path: String, _ mishaps: Mishap...) {
        state.withLock { $0.mishaps[path, default: []] += mishaps }
    }

    /// Sets the fate of all requests from now on, at one member or at all.
    func fail(_ mishap: Mishap?, at host: String = "*") {
        state.withLock { $0.standing[host] = mishap }
    }

    /// Runs a closure after a number of further requests for a path.
    func after(_ path: String, count: Int, do body: @escaping @Sendable () -> Void) {
        state.withLock { $0.hooks[path] = (count, body) }
    }

    /// The revision that last wrote a key; 0 if there is none.
    func written(to key: String) -> Int { state.withLock { $0.values[key]?.written ?? 0 } }

    /// Requires a login from now on, or forgets the earlier ones.
    func demandLogin() { state.withLock { $0.tokens = [] } }

    /// Writes a key without the store.
    func put(_ key: String, _ bytes: [UInt8]) {
        state.withLock { $0.put(key, Data(bytes), lease: nil) }
    }

    func remove(_ key: String) { state.withLock { $0.remove(key) } }

    /// Ends the expired leases.
    func expire() { state.withLock { $0.expire(at: clock.now) } }

    /// Ends all watches with an error of their connections.
    func breakWatches() {
        let streams = state.withLock { state in
            defer { state.watchers = [] }
            return state.watchers.map(\.stream)
        }
        for stream in streams { stream.end() }
    }

    /// Keeps all watches open and silent from now on.
    func silenceWatches() { state.withLock { $0.isSilent = true } }

    /// Delays the events of all watches from now on.
    func holdWatches() { state.withLock { $0.held = [] } }

    /// Delivers the delayed events.
    func releaseWatches() {
        let held = state.withLock { state in
            defer { state.held = nil }
            return state.held ?? []
        }
        for (stream, line) in held { stream.send(line) }
    }

    // MARK: - Requests

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let body = try await request.body.collect(upTo: 1 << 20)
        let path = String(request.target.dropFirst("/v3/".count))
        let question = try JSONDecoder().decode(JSON.self, from: Data(body.array))
        let token = request.headers[.authorization]
        let mishap = state.withLock { state -> Mishap? in
            state.requests.append((request.origin, path))
            state.expire(at: clock.now)
            if let standing = state.standing[request.origin.host] ?? state.standing["*"] {
                return standing
            }
            guard state.mishaps[path]?.isEmpty == false else { return nil }
            return state.mishaps[path]?.removeFirst()
        }
        switch mishap {
        case .unreachable:
            throw NetworkError(.connectionRefused, side: .upstream, retry: .safe, detail: "refused")
        case .refused(let code, let message):
            return EtcdModel.refusal(code, message)
        case .lostAnswer:
            _ = state.withLock { $0.answer(path, question, at: clock.now) }
            throw NetworkError(.httpResponseTimeout, side: .upstream, detail: "no answer")
        case .unharmed, nil: break
        }
        let isDenied = state.withLock { state in
            state.tokens.map { $0.contains(token ?? "") || path == "auth/authenticate" } == false
        }
        if isDenied { return EtcdModel.refusal(3, "etcdserver: user name is empty") }
        if path == "watch" { return watch(question) }
        guard let text = state.withLock({ $0.answer(path, question, at: clock.now) }) else {
            return EtcdModel.refusal(5, "etcdserver: requested lease not found")
        }
        let hook = state.withLock { state -> (@Sendable () -> Void)? in
            guard let hook = state.hooks[path] else { return nil }
            state.hooks[path] = hook.count > 1 ? (hook.count - 1, hook.body) : nil
            return hook.count == 1 ? hook.body : nil
        }
        hook?()
        var response = Response(status: 200, body: .bytes(ByteSlice(text)))
        if let date { response.headers.append(.date, validated: date) }
        return response
    }

    private static func refusal(_ code: Int, _ message: String) -> Response {
        let text = #"{"error":"\#(message)","message":"\#(message)","code":\#(code)}"#
        return Response(status: code == 14 ? 503 : 400, body: .bytes(ByteSlice(text)))
    }

    private func watch(_ question: JSON) -> Response {
        let create = question["create_request"]
        let stream = WatchStream()
        let (start, end) = (create["key"].key, create["range_end"].key)
        state.withLock { state in
            state.watchers.append((start, end, stream))
            stream.send(#"{"result":{"header":{"revision":"\#(state.revision)"},"created":true}}"#)
            for event in state.history
            where event.revision >= create["start_revision"].number && start <= event.key
                && event.key < end
            {
                stream.send(event.line)
            }
        }
        return Response(status: 200, body: .stream(stream, length: nil))
    }
}

extension EtcdModel.State {
    fileprivate mutating func put(_ key: String, _ bytes: Data, lease: Int?) {
        revision += 1
        let created = values[key]?.created ?? revision
        let value = EtcdModel.Value(
            bytes: bytes,
            created: created,
            written: revision,
            lease: lease
        )
        values[key] = value
        tell(key, #"{"kv":\#(text(key, value))}"#)
    }

    fileprivate mutating func remove(_ key: String) {
        guard values.removeValue(forKey: key) != nil else { return }
        revision += 1
        let name = Data(key.utf8).base64EncodedString()
        tell(key, #"{"type":"DELETE","kv":{"key":"\#(name)","mod_revision":"\#(revision)"}}"#)
    }

    private mutating func tell(_ key: String, _ event: String) {
        let line = #"{"result":{"header":{"revision":"\#(revision)"},"events":[\#(event)]}}"#
        history.append((revision, key, line))
        for watcher in watchers where !isSilent && watcher.start <= key && key < watcher.end {
            if held == nil {
                watcher.stream.send(line)
            } else {
                held?.append((watcher.stream, line))
            }
        }
    }

    fileprivate mutating func expire(at now: ContinuousClock.Instant) {
        for (lease, end) in leases where end <= now { endLease(lease) }
    }

    private mutating func endLease(_ lease: Int) {
        leases[lease] = nil
        for key in values.filter({ $0.value.lease == lease }).keys { remove(key) }
    }

    private func text(_ key: String, _ value: EtcdModel.Value) -> String {
        let lease = value.lease.map { #","lease":"\#($0)""# } ?? ""
        return
            #"{"key":"\#(Data(key.utf8).base64EncodedString())","create_revision":"\#(value.created)","#
            + #""mod_revision":"\#(value.written)","value":"\#(value.bytes.base64EncodedString())"\#(lease)}"#
    }

    private func range(_ range: JSON) -> String {
        let start = range["key"].key
        let end = range["range_end"].text.isEmpty ? nil : range["range_end"].key
        let matches = values.sorted { $0.key < $1.key }.filter { entry in
            end.map { start <= entry.key && entry.key < $0 } ?? (entry.key == start)
        }
        return matches.map { text($0.key, $0.value) }.joined(separator: ",")
    }

    private var header: String { #""header":{"revision":"\#(revision)"}"# }

    /// The response to a request; `nil` for a missing lease.
    fileprivate mutating func answer(
        _ path: String,
        _ question: JSON,
        at now: ContinuousClock.Instant
    ) -> String? {
        switch path {
        case "auth/authenticate":
            tokens?.insert("token-\(question["password"].text)")
            return #"{"token":"token-\#(question["password"].text)"}"#
        case "kv/range": return #"{\#(header),"kvs":[\#(range(question))]}"#
        case "kv/txn": return transact(question)
        case "lease/grant":
            nextLease += 1
            leases[nextLease] = now + .seconds(question["TTL"].number)
            return #"{"ID":"\#(nextLease)","TTL":"\#(question["TTL"].number)"}"#
        case "lease/keepalive":
            let lease = question["ID"].number
            guard leases[lease] != nil else { return #"{"result":{"ID":"\#(lease)"}}"# }
            leases[lease] = now + .seconds(5)
            return #"{"result":{"ID":"\#(lease)","TTL":"5"}}"#
        case "lease/revoke":
            guard leases[question["ID"].number] != nil else { return nil }
            endLease(question["ID"].number)
            return "{}"
        default: return "{}"
        }
    }

    private mutating func transact(_ question: JSON) -> String {
        let holds = question["compare"].items.allSatisfy { compare in
            let value = values[compare["key"].key]
            return compare["target"].text == "CREATE"
                ? (value?.created ?? 0) == compare["create_revision"].number
                : (value?.written ?? 0) == compare["mod_revision"].number
        }
        var answers: [String] = []
        for step in question[holds ? "success" : "failure"].items {
            if let put = step.member("request_put") {
                let lease = put.member("lease")?.number
                self.put(put["key"].key, Data(put["value"].bytes), lease: lease)
                answers.append(#"{"response_put":{}}"#)
            } else if let range = step.member("request_range") {
                answers.append(#"{"response_range":{"kvs":[\#(self.range(range))]}}"#)
            } else if let range = step.member("request_delete_range") {
                remove(range["key"].key)
                answers.append(#"{"response_delete_range":{}}"#)
            }
        }
        let succeeded = holds ? #","succeeded":true"# : ""
        return #"{\#(header)\#(succeeded),"responses":[\#(answers.joined(separator: ","))]}"#
    }
}

/// The lines of a watch.
final class WatchStream: BodySource {
    private let lines = AsyncStream.makeStream(of: String.self)

    func send(_ line: String) { lines.continuation.yield(line + "\n") }
    func end() { lines.continuation.finish() }

    func next() async throws -> ByteSlice? {
        for await line in lines.stream { return ByteSlice(line) }
        return nil
    }

    func cancel() { end() }
}

/// A JSON value whose members are read by name; missing ones are empty.
indirect enum JSON: Decodable, Sendable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let items = try? container.decode([JSON].self) {
            self = .array(items)
        } else if let members = try? container.decode([String: JSON].self) {
            self = .object(members)
        } else {
            self = .other
        }
    }

    func member(_ name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    subscript(name: String) -> JSON { member(name) ?? .other }
    var text: String { if case .string(let text) = self { text } else { "" } }
    var items: [JSON] { if case .array(let items) = self { items } else { [] } }
    var number: Int { Int(text) ?? 0 }
    var bytes: [UInt8] { Array(Data(base64Encoded: text) ?? Data()) }
    var key: String { String(decoding: bytes, as: UTF8.self) }
}
