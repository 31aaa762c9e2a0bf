import FoundationEssentials
import NetproxyBytes
import NetproxyHTTPMessage
package import NetworkCore
import OAuth
import Synchronization

/// Speaks to the members of an etcd cluster by their JSON gateway: one at a time, and another one as soon as
/// that does not serve.
package final class EtcdClient: Sendable {
    /// A user of etcd, for clusters with authentication.
    package struct Login: Sendable {
        /// The name.
        package var name: String
        /// Reads the password, at each login.
        package var password: @Sendable () async throws -> Secret

        /// Describes a user.
        package init(name: String, password: @escaping @Sendable () async throws -> Secret) {
            (self.name, self.password) = (name, password)
        }
    }

    /// The standing of etcd.
    package struct Standing: Sendable, Hashable {
        /// The last fault, until a request succeeds that it would prevent.
        package var fault: EtcdFault?
        /// The number of faults of each kind.
        package var counts: [EtcdFault.Kind: Int] = [:]
    }

    /// The maximum wait for a member's response.
    private static let patience = Duration.seconds(2)
    /// The time without requests after no member has responded: the steps of one renewal do not wait
    /// for the same members one after the other.
    private static let rest = Duration.milliseconds(100)
    /// The largest accepted response: 8 MiB.
    private static let limit = 8 << 20

    let clock: any NetworkClock
    /// The members' time of day: machines whose own clocks differ agree on it.
    let serverClock: ServerClock
    private let members: [Origin]
    private let transport: any HTTPTransport
    private let login: Login?
    private let certificate: EtcdClientCertificate
    private let onChange: @Sendable (EtcdFault?) -> Void
    private let state = Mutex(State())

    private struct State {
        /// The member to try first.
        var preferred = 0
        var token: Secret?
        var standing = Standing()
        /// The fault of the next requests, and its end: no member has responded.
        var rest: (fault: EtcdFault, end: ContinuousClock.Instant)?
        /// Work in the background.
        var pending: [Int: Task<Void, Never>] = [:]
        var nextID = 0
    }

    /// Makes a client of the members; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - members: the origins of their client URLs, at least one.
    ///   - transport: reaches them; it must not end a body that is silent.
    ///   - login: the user, if etcd demands one.
    ///   - certificate: whether members see a client certificate.
    ///   - clock: measures waits and leases.
    ///   - onChange: called with each fault of a new kind, and with `nil` when the faults end.
    package init(
        _ members: [Origin],
        over transport: any HTTPTransport,
        as login: Login? = nil,
        showing certificate: EtcdClientCertificate = .none,
        clock: any NetworkClock = SystemClock(),
        onChange: @escaping @Sendable (EtcdFault?) -> Void = { _ in }
    ) {
        precondition(!members.isEmpty)
        self.members = members
        self.transport = transport
        self.login = login
        self.certificate = certificate
        self.clock = clock
        serverClock = ServerClock(clock: clock)
        self.onChange = onChange
        // Machines that start at once spread over the members.
        state.withLock { $0.preferred = .random(in: 0..<members.count) }
    }

    /// The current standing of etcd.
    package var standing: Standing { state.withLock { $0.standing } }

    /// Counts a fault.
    func note(_ fault: EtcdFault) {
        let isNews = state.withLock { state in
            defer { state.standing.fault = fault }
            state.standing.counts[fault.kind, default: 0] += 1
            return state.standing.fault?.kind != fault.kind
        }
        if isNews { onChange(fault) }
    }

    /// Removes a fault that a success shows to be over.
    func noteSuccess(over isOver: (EtcdFault) -> Bool) {
        let isNews = state.withLock { state in
            guard let fault = state.standing.fault, isOver(fault) else { return false }
            state.standing.fault = nil
            return true
        }
        if isNews { onChange(nil) }
    }

    // MARK: - Work in the background

    /// Does something for a caller that does not wait.
    func begin(_ work: @escaping @Sendable (EtcdClient) async -> Void) {
        state.withLock { state in
            state.nextID += 1
            let id = state.nextID
            // Its own task; a program that ends waits for it in `settle()`.
            state.pending[id] = Task {
                await work(self)
                self.state.withLock { _ = $0.pending.removeValue(forKey: id) }
            }
        }
    }

    /// Returns when the work in the background has ended, within seconds.
    package func settle() async {
        for task in state.withLock({ Array($0.pending.values) }) { await task.value }
    }

    // MARK: - Questions

    /// Sends a request to one member after the other until one responds; a request may be sent twice.
    ///
    /// - Parameters:
    ///   - path: the method's place below `/v3/`.
    ///   - question: the message.
    ///   - answer: the type of the response.
    ///   - patience: the maximum wait for a member.
    /// - Returns: the response.
    /// - Throws: `EtcdFault`, the last member's.
    func send<Answer: Decodable & Sendable>(
        _ path: String,
        _ question: some Encodable,
        for answer: Answer.Type = Answer.self,
        within patience: Duration = EtcdClient.patience
    ) async throws(EtcdFault) -> Answer {
        let body = encoded(question)
        return try await trying(path) { (member) throws(EtcdFault) in
            let content = try await self.answer(of: member, path, body, within: patience)
            do {
                let answer = try JSONDecoder().decode(answer, from: Data(content.array))
                if let revised = answer as? any EtcdRevised, revised.revision == 0 {
                    throw EtcdFault(.unexpected, "\(member) sent a response without a revision")
                }
                return answer
            } catch let fault as EtcdFault {
                throw fault
            } catch {
                throw EtcdFault(.unexpected, "\(member) sent a response that is not from etcd")
            }
        }
    }

    /// Opens a stream of responses, one in each line.
    ///
    /// - Throws: `EtcdFault`.
    func stream(
        _ path: String,
        _ question: some Encodable
    ) async throws(EtcdFault) -> EtcdLines {
        let body = encoded(question)
        return try await trying(path) { (member) throws(EtcdFault) in
            let response = try await self.response(of: member, path, body, until: nil)
            return EtcdLines(response.body, of: member)
        }
    }

    private func trying<Answer: Sendable>(
        _ path: String,
        _ ask: (Origin) async throws(EtcdFault) -> Answer
    ) async throws(EtcdFault) -> Answer {
        let (first, resting) = state.withLock { state in
            (state.preferred, state.rest.flatMap { clock.now < $0.end ? $0.fault : nil })
        }
        // A lease that is not revoked keeps all machines waiting.
        if let resting, path != "lease/keepalive", path != "lease/revoke" { throw resting }
        var last: EtcdFault?
        for offset in 0..<max(members.count, 2) {
            let index = (first + offset) % members.count
            do throws(EtcdFault) {
                let answer = try await asking(members[index], ask)
                state.withLock { ($0.preferred, $0.rest) = (index, nil) }
                let writes = path == "kv/txn" || path == "lease/grant"
                noteSuccess { $0.kind != .foreign && ($0.kind != .full || writes) }
                return answer
            } catch {
                last = error
                guard error.mayDependOnMember, !Task.isCancelled else { break }
                state.withLock { $0.preferred = (index + 1) % members.count }
            }
        }
        guard let last else { preconditionFailure("a member was asked") }
        if last.kind != .leaseLost, !Task.isCancelled {
            note(last)
            if last.mayDependOnMember {
                state.withLock { $0.rest = (last, clock.now + Self.rest) }
            }
        }
        throw last
    }

    /// Sends a request to a member, and once more after a new login if the old one has ended.
    private func asking<Answer: Sendable>(
        _ member: Origin,
        _ ask: (Origin) async throws(EtcdFault) -> Answer
    ) async throws(EtcdFault) -> Answer {
        do {
            if login != nil, state.withLock({ $0.token }) == nil { try await logIn(at: member) }
            return try await ask(member)
        } catch {
            guard login != nil, error.needsLogin else { throw error }
            try await logIn(at: member)
            return try await ask(member)
        }
    }

    private func logIn(at member: Origin) async throws(EtcdFault) {
        guard let login else { return }
        state.withLock { $0.token = nil }
        let password: Secret
        do {
            password = try await login.password()
        } catch {
            throw EtcdFault(.denied, "the password of \(login.name) cannot be read: \(error)")
        }
        let body = encoded(EtcdLogin(name: login.name, password: password.reveal()))
        let content = try await answer(of: member, "auth/authenticate", body, within: Self.patience)
        do {
            let answer = try JSONDecoder().decode(EtcdLoginResponse.self, from: Data(content.array))
            state.withLock { $0.token = Secret(answer.token) }
        } catch {
            throw EtcdFault(.denied, "\(member) gives no token for a login")
        }
    }

    // MARK: - Requests

    private func encoded(_ question: some Encodable) -> ByteSlice {
        do {
            return ByteSlice(Array(try JSONEncoder().encode(question)))
        } catch {
            preconditionFailure("texts, numbers and bytes can be encoded")
        }
    }

    private func answer(
        of member: Origin,
        _ path: String,
        _ body: ByteSlice,
        within patience: Duration
    ) async throws(EtcdFault) -> ByteSlice {
        let limit = clock.now + patience
        let response = try await response(of: member, path, body, until: limit)
        do {
            return try await response.body.collect(upTo: Self.limit, until: limit, on: clock)
        } catch {
            throw EtcdFault(error, from: member, showing: certificate)
        }
    }

    private func response(
        of member: Origin,
        _ path: String,
        _ body: ByteSlice,
        until limit: ContinuousClock.Instant?
    ) async throws(EtcdFault) -> Response {
        var request = Request(method: .post, origin: member, target: "/v3/\(path)")
        request.headers = [
            .contentType: "application/json",
            // A member without a leader ends a watch instead of keeping it silent.
            "Grpc-Metadata-hasleader": "true",
        ]
        if let token = state.withLock({ $0.token }), path != "auth/authenticate" {
            request.headers.append(.authorization, validated: token.reveal())
        }
        request.body = .bytes(body)
        let response: Response
        do {
            var context = RequestContext(deadline: limit)
            response = try await transport.timed(by: clock).send(request, context: &context)
        } catch {
            throw EtcdFault(error, from: member, showing: certificate)
        }
        serverClock.learn(from: response.headers)
        guard response.status != 200 else { return response }
        let content: ByteSlice
        do {
            let limit = limit ?? clock.now + Self.patience
            content = try await response.body.collect(upTo: Self.limit, until: limit, on: clock)
        } catch {
            throw EtcdFault(error, from: member, showing: certificate)
        }
        do {
            let refusal = try JSONDecoder().decode(EtcdRefusal.self, from: Data(content.array))
            throw EtcdFault(refusal, from: member)
        } catch let fault as EtcdFault {
            throw fault
        } catch {
            throw EtcdFault(response.status, content, from: member)
        }
    }
}

extension EtcdFault {
    /// A refusal in other words than the gateway's own.
    init(_ status: HTTPStatus, _ content: ByteSlice, from origin: Origin) {
        let text = String(decoding: content.prefix(500).array, as: UTF8.self)
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        let words = ServerWords.clean(line, secrets: []).map { " (\($0))" } ?? ""
        if text.contains("CommonName") {
            self.init(
                .denied,
                "\(origin) answers \(status)\(words): with users enabled, its gateway takes no client "
                    + "certificate that has a common name; issue one without"
            )
        } else {
            let advice =
                status == 404
                ? ": its JSON gateway is needed, which etcd has had at /v3 since 3.4" : ""
            self.init(.unexpected, "\(origin) answers \(status)\(words)\(advice)")
        }
    }

    /// A refusal of the gateway.
    init(_ refusal: EtcdRefusal, from origin: Origin) {
        self.init(code: refusal.code, message: refusal.message, from: origin)
    }
}

/// The lines of a stream of responses.
struct EtcdLines {
    /// The longest line: a record with its base64, many times over.
    private static let limit = 8 << 20

    let member: Origin
    private let body: HTTPBody
    private var rest: [UInt8] = []

    init(_ body: HTTPBody, of member: Origin) {
        (self.body, self.member) = (body, member)
    }

    /// The next line without its end; `nil` at the end of the stream.
    ///
    /// - Throws: `EtcdFault`.
    mutating func next() async throws(EtcdFault) -> [UInt8]? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(rest[..<end])
                rest.removeSubrange(...end)
                return line
            }
            guard rest.count < Self.limit, case .stream(let source, _) = body else { return nil }
            do {
                guard let piece = try await source.nextUnlessCancelled() else { return nil }
                rest += piece.array
            } catch {
                throw EtcdFault(error, from: member)
            }
        }
    }

    /// Ends the stream.
    func cancel() { body.cancel() }
}
