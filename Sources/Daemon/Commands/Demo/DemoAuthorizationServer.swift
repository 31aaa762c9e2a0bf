import NetproxyBytes
import NetproxyHTTPMessage
import NetproxyService
import NetworkCore
import OAuth
import Synchronization

/// The demo's OAuth 2.0 authorization server.
///
/// Supports client credentials, refresh tokens with rotation, short-lived tokens and revocation. Tokens live
/// in memory only.
final class DemoAuthorizationServer: Sendable {
    private struct State {
        var accessTokens: [String: ContinuousClock.Instant] = [:]
        var refreshTokens: Set<String> = []
        var requests = DemoLog()
    }

    let clientID = "demo-client"
    let clientSecret: String
    /// The lifetime of an access token.
    let lifetime: Duration
    private let state = Mutex(State())

    init(lifetime: Duration = .seconds(60)) {
        self.lifetime = lifetime
        clientSecret = DemoAuthorizationServer.random()
    }

    /// The most recent grant types, in order.
    var requests: [String] { state.withLock { $0.requests.lines } }

    /// Issues the initial refresh token.
    func issueRefreshToken() -> String {
        let token = DemoAuthorizationServer.random()
        state.withLock { _ = $0.refreshTokens.insert(token) }
        return token
    }

    /// Invalidates all access tokens before they expire.
    func revokeAll() {
        state.withLock { $0.accessTokens = [:] }
    }

    /// Whether an `Authorization` value contains a valid token.
    func accepts(_ authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return false }
        let token = String(authorization.dropFirst(7))
        return state.withLock { state in
            guard let expiry = state.accessTokens[token] else { return false }
            return expiry > .now
        }
    }

    /// Responds to `/token` and `/revoke`.
    func answer(_ call: LocalServer.Call) -> Response {
        guard call.method == .post else { return .json(405, #"{"error":"invalid_request"}"#) }
        let fields = FormDecoding.decode(String(decoding: call.body.array, as: UTF8.self))
        let form = Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
        guard isClient(call.headers[.authorization], form) else {
            return .json(401, #"{"error":"invalid_client"}"#)
        }
        if call.path.hasSuffix("/revoke") {
            if let token = form["token"] {
                state.withLock { state in
                    state.accessTokens[token] = nil
                    state.refreshTokens.remove(token)
                }
            }
            return .json(200, "{}")
        }
        return token(form)
    }

    private func token(_ form: [String: String]) -> Response {
        let grant = form["grant_type"] ?? ""
        var rotated: String?
        state.withLock { $0.requests.append(grant) }
        switch grant {
        case "client_credentials": break
        case "refresh_token":
            let presented = form["refresh_token"] ?? ""
            let isKnown = state.withLock { $0.refreshTokens.remove(presented) != nil }
            guard isKnown else {
                return .json(
                    400,
                    #"{"error":"invalid_grant","error_description":"unknown or used refresh token"}"#
                )
            }
            rotated = issueRefreshToken()
        default: return .json(400, #"{"error":"unsupported_grant_type"}"#)
        }
        let access = DemoAuthorizationServer.random()
        state.withLock { state in
            state.accessTokens = state.accessTokens.filter { $0.value > .now }
            state.accessTokens[access] = .now + lifetime
        }
        let refresh = rotated.map { #","refresh_token":"\#($0)""# } ?? ""
        return .json(
            200,
            #"{"access_token":"\#(access)","token_type":"Bearer","expires_in":\#(lifetime.components.seconds)\#(refresh)}"#
        )
    }

    private func isClient(_ authorization: String?, _ form: [String: String]) -> Bool {
        if let authorization, authorization.hasPrefix("Basic ") {
            let pair = Base64.decode(String(authorization.dropFirst(6))) ?? []
            return String(decoding: pair, as: UTF8.self) == "\(clientID):\(clientSecret)"
        }
        return form["client_id"] == clientID && form["client_secret"] == clientSecret
    }

    private static func random() -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return String((0..<40).map { _ in digits[Int.random(in: 0..<digits.count)] })
    }
}
