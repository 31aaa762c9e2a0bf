package import NetworkCore
import Synchronization

/// An authorization server in memory, behind the transport's interface: client credentials and
/// refresh tokens with rotation and reuse detection, and whatever faults a test scripts.
package final class AuthorizationServerModel: HTTPTransport {
    /// How one request is answered; without a script all are `granted`.
    package enum Answer: Sendable {
        /// As a healthy server does.
        case granted
        /// Granted and rotated, but the answer never arrives.
        case lost
        /// A response of the test's own.
        case reply(HTTPStatus, String, HTTPHeaders)
        /// No response, and nothing was acted on.
        case fault(NetworkError)

        /// A response with a JSON body.
        package static func json(_ body: String, status: HTTPStatus = 200) -> Answer {
            .reply(status, body, [.contentType: "application/json"])
        }
    }

    /// What a request asked for.
    package struct Asked: Sendable {
        /// The request as it was sent.
        package let request: Request
        /// The body as it was sent.
        package let body: String

        /// The value of a form field, decoded.
        package func form(_ name: String) -> String? {
            for pair in body.split(separator: "&") {
                let parts = pair.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                guard parts.count == 2, parts[0] == name else { continue }
                return AuthorizationServerModel.decoded(parts[1])
            }
            return nil
        }
    }

    private struct State {
        var script: [Answer] = []
        var asked: [Asked] = []
        var issued = 0
        var refreshToken: String?
        var spent: [String: String] = [:]
        var isRevoked = false
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let expiresIn: String?
    private let rotates: Bool
    private let answersSpentToken: Bool
    private let accessToken: @Sendable (Int) -> String
    private let state: Mutex<State>

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - expiresIn: what stands in the JSON as `expires_in`; nothing leaves it out.
    ///   - refreshToken: the refresh token that is accepted first.
    ///   - rotates: whether each refresh replaces the refresh token.
    ///   - answersSpentToken: whether the token that was spent last is answered once more, as
    ///     servers with a grace period do; otherwise its reuse revokes the family.
    ///   - accessToken: names the n-th access token.
    package init(
        expiresIn: String? = "3600",
        refreshToken: String? = nil,
        rotates: Bool = true,
        answersSpentToken: Bool = false,
        accessToken: @escaping @Sendable (Int) -> String = { "access-\($0)" }
    ) {
        self.expiresIn = expiresIn
        self.rotates = rotates
        self.answersSpentToken = answersSpentToken
        self.accessToken = accessToken
        var state = State()
        state.refreshToken = refreshToken
        self.state = Mutex(state)
    }

    /// All requests so far.
    package var asked: [Asked] { state.withLock { $0.asked } }

    /// Whether a spent refresh token was presented, and the family revoked for it.
    package var isRevoked: Bool { state.withLock { $0.isRevoked } }

    /// The refresh token that would be accepted now.
    package var refreshToken: String? { state.withLock { $0.refreshToken } }

    /// Answers the next requests so, one after the other.
    package func script(_ answers: Answer...) {
        state.withLock { $0.script += answers }
    }

    /// Lets requests arrive, but answers none until `release()`.
    package func hold() {
        state.withLock { $0.isHeld = true }
    }

    /// Answers what is held.
    package func release() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    /// Returns when so many requests have arrived.
    package func untilAsked(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                guard state.asked.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    /// Answers a token request.
    package func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        let body = String(
            decoding: try await request.body.collect(upTo: 1 << 20).array,
            as: UTF8.self
        )
        let asked = Asked(request: request, body: body)
        let (answer, watchers) = state.withLock { state in
            state.asked.append(asked)
            let count = state.asked.count
            let due = state.watchers.filter { $0.count <= count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= count }
            return (state.script.isEmpty ? Answer.granted : state.script.removeFirst(), due)
        }
        for watcher in watchers { watcher.resume() }
        await pass()
        switch answer {
        case .granted: return grant(asked)
        case .lost:
            _ = grant(asked)
            throw NetworkError(
                .connectionTerminated,
                side: .upstream,
                detail: "the connection was closed"
            )
        case .reply(let status, let body, let headers):
            return Response(status: status, headers: headers, body: .bytes(ByteSlice(body)))
        case .fault(let error): throw error
        }
    }

    private func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return !state.isHeld
            }
            if isOpen { continuation.resume() }
        }
    }

    private func grant(_ asked: Asked) -> Response {
        let presented = asked.form("refresh_token")
        let (status, body): (HTTPStatus, String) = state.withLock { state in
            guard let presented else {
                state.issued += 1
                return (200, json(accessToken(state.issued), nil))
            }
            if let earlier = state.spent[presented] {
                if answersSpentToken, earlier.contains(state.refreshToken ?? "-") {
                    return (200, earlier)
                }
                state.isRevoked = true
                state.refreshToken = nil
            }
            guard presented == state.refreshToken else {
                return (400, #"{"error":"invalid_grant","error_description":"unknown token"}"#)
            }
            state.issued += 1
            let next = rotates ? "refresh-\(state.issued)" : nil
            let answer = json(accessToken(state.issued), next)
            if let next {
                state.spent[presented] = answer
                state.refreshToken = next
            }
            return (200, answer)
        }
        return Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: .bytes(ByteSlice(body))
        )
    }

    private func json(_ access: String, _ refresh: String?) -> String {
        var members = [#""access_token":"\#(access)""#, #""token_type":"Bearer""#]
        if let expiresIn { members.append(#""expires_in":\#(expiresIn)"#) }
        if let refresh { members.append(#""refresh_token":"\#(refresh)""#) }
        return "{\(members.joined(separator: ","))}"
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
