public import NetworkClient
import Synchronization

/// An authorization server without sockets.
///
/// It supports client credentials and refresh tokens with rotation, reuse detection and a grace window, and
/// follows a script of mishaps.
public final class AuthorizationServerModel: HTTPTransport {
    /// The outcome of one token request.
    public enum Mishap: Sendable {
        /// The server responds normally.
        case none
        /// The server processes the request, but the response is lost.
        case lostAnswer
        /// The server refuses the connection and does not process the request.
        case unreachable
        /// The server does not process the request, and responds with this status, content and fields.
        case respond(Int, String, HTTPHeaders)
        /// The server processes the request, but responds with this status and content instead of the tokens.
        case answerInstead(Int, String)
    }

    /// A received token request.
    public struct Seen: Sendable {
        /// The form's parameters, decoded.
        public var form: [String: String]
        /// The field section.
        public var headers: HTTPHeaders
    }

    private struct Spent {
        var at: ContinuousClock.Instant
        var body: String
    }

    private struct State {
        var requests: [Seen] = []
        var script: [Mishap] = []
        var access: Set<String> = []
        var refresh: Set<String> = []
        var spent: [String: Spent] = [:]
        var issued = 0
        var lifetime = "3600"
        var extra = ""
        var fixedToken: String?
        var isReused = false
    }

    private let state = Mutex(State())
    private let clock: any NetworkClock
    /// Whether each refresh token can be used only once.
    public let rotates: Bool
    /// The duration for which a used refresh token gets the same tokens again.
    public let grace: Duration
    /// A gate that, while closed, delays the processing of token requests.
    public let gate = Door()

    /// Creates a server that knows one refresh token, `initial`.
    ///
    /// - Parameters:
    ///   - clock: measures the grace window.
    ///   - rotates: whether each refresh token can be used only once.
    ///   - grace: the duration for which a used refresh token gets the same tokens again.
    public init(
        clock: any NetworkClock = SystemClock(),
        rotates: Bool = true,
        grace: Duration = .zero
    ) {
        self.clock = clock
        self.rotates = rotates
        self.grace = grace
        state.withLock { $0.refresh = ["initial"] }
    }

    /// The token requests so far.
    public var requests: [Seen] { state.withLock { $0.requests } }
    /// Whether a used refresh token was presented after the grace window.
    public var sawReuse: Bool { state.withLock { $0.isReused } }

    /// Adds outcomes for the next token requests, in order.
    public func script(_ mishaps: Mishap...) { state.withLock { $0.script += mishaps } }
    /// Sets the JSON text of `expires_in`.
    public func setLifetime(_ json: String) { state.withLock { $0.lifetime = json } }
    /// Sets further members of the token response, as JSON text that begins with a comma.
    public func setExtra(_ json: String) { state.withLock { $0.extra = json } }
    /// Sets a fixed access token; `nil` issues a new token each time again.
    public func setFixedToken(_ token: String?) { state.withLock { $0.fixedToken = token } }
    /// Revokes all access tokens.
    public func revokeAccess() { state.withLock { $0.access = [] } }
    /// Revokes all access and refresh tokens.
    public func revokeAll() {
        state.withLock { state in
            state.access = []
            state.refresh = []
        }
    }
    /// Adds a refresh token.
    public func admit(refreshToken: String) {
        state.withLock { _ = $0.refresh.insert(refreshToken) }
    }
    /// Whether an access token is valid.
    public func accepts(_ token: String) -> Bool { state.withLock { $0.access.contains(token) } }

    /// Responds to a token request.
    public func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let body = try await request.body.collect(upTo: 1 << 16)
        let form = AuthorizationServerModel.parse(body)
        let mishap = state.withLock { state in
            state.requests.append(Seen(form: form, headers: request.headers))
            return state.script.isEmpty ? .none : state.script.removeFirst()
        }
        await gate.pass()
        if Task.isCancelled {
            throw NetworkError(.cancelled, side: .proxy, detail: "cancelled")
        }
        switch mishap {
        case .none: return act(on: form)
        case .unreachable:
            throw NetworkError(
                .connectionRefused,
                side: .upstream,
                retry: .safe,
                detail: "connection refused"
            )
        case .lostAnswer:
            _ = act(on: form)
            throw NetworkError(
                .connectionTerminated,
                side: .upstream,
                detail: "the connection broke"
            )
        case .respond(let status, let body, let headers): return reply(status, body, headers)
        case .answerInstead(let status, let body):
            _ = act(on: form)
            return reply(status, body)
        }
    }

    private func act(on form: [String: String]) -> Response {
        let now = clock.now
        return state.withLock { state in
            guard form["grant_type"] == "refresh_token" else {
                return reply(200, issue(&state, refresh: nil))
            }
            let presented = form["refresh_token"] ?? ""
            if state.refresh.contains(presented) {
                guard rotates else { return reply(200, issue(&state, refresh: nil)) }
                state.refresh.remove(presented)
                let next = "refresh-\(state.issued + 1)"
                state.refresh.insert(next)
                let body = issue(&state, refresh: next)
                state.spent[presented] = Spent(at: now, body: body)
                return reply(200, body)
            }
            if let spent = state.spent[presented] {
                if now - spent.at <= grace { return reply(200, spent.body) }
                // Reuse detection revokes the whole token family (RFC 9700 §4.14.2).
                state.isReused = true
                state.refresh = []
                state.access = []
            }
            let shown = presented.filter { $0 != "\"" && $0 != "\\" }
            return reply(
                400,
                #"{"error":"invalid_grant","error_description":"token \#(shown) is revoked"}"#
            )
        }
    }

    private func issue(_ state: inout State, refresh: String?) -> String {
        state.issued += 1
        let token = state.fixedToken ?? "access-\(state.issued)"
        state.access.insert(token)
        let rotated = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
        return #"{"access_token":"\#(token)","token_type":"bearer","expires_in":\#(state.lifetime)"#
            + "\(rotated)\(state.extra)}"
    }

    private func reply(_ status: Int, _ body: String, _ headers: HTTPHeaders = [:]) -> Response {
        Response(
            status: HTTPStatus(rawValue: status) ?? 500,
            headers: headers,
            body: body.isEmpty ? .empty : .bytes(ByteSlice(body))
        )
    }

    private static func parse(_ body: ByteSlice) -> [String: String] {
        let text = String(decoding: body.array, as: UTF8.self)
        var form: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? parts[1] : ""
            form[PercentEncoding.decoded(parts[0])] = PercentEncoding.decoded(value)
        }
        return form
    }
}
