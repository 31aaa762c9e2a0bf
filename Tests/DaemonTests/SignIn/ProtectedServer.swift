import OAuth
import Synchronization
import TestSupport

/// A protected resource together with its authorization server, which registers clients and signs in every
/// user.
final class ProtectedServer: Sendable {
    /// The settings that a story changes while it runs.
    struct Rules: Sendable {
        /// The paths of the issuer and of the resource.
        var issuer = "/as"
        var resource = "/mcp"
        var clients: Set<String> = []
        var tokens: Set<String> = []
        /// The scope that a token lacks for `/mcp/write`; `nil` if it has enough.
        var missing: String? = "write"
        var issued = 0
        /// The authorization servers of the resource; its own if `nil`.
        var servers: [String]?
        /// Whether the resource has metadata (RFC 9728); MCP 2025-03-26 has none.
        var isDescribed = true
        /// Additional metadata of the authorization server.
        var metadata = ""
    }

    let origin: OriginServer
    let rules: Mutex<Rules>

    private init(_ origin: OriginServer, _ box: RulesBox) {
        self.origin = origin
        rules = Mutex(Rules())
        box.server.withLock { $0 = self }
    }

    private final class RulesBox: Sendable {
        let server = Mutex<ProtectedServer?>(nil)
    }

    static func start() async throws -> ProtectedServer {
        let box = RulesBox()
        let origin = try await OriginServer.start { request in
            guard let server = box.server.withLock({ $0 }) else { return Raw.ok("") }
            return server.answer(request)
        }
        return ProtectedServer(origin, box)
    }

    var base: String { "http://127.0.0.1:\(origin.port)" }
    private var place: String { "\(base)/.well-known/oauth-protected-resource/mcp" }

    private func answer(_ request: RawMessage) -> String {
        let json = "Content-Type: application/json"
        let words = request.startLine.split(separator: " ")
        let path = String(words[1].prefix { $0 != "?" })
        return rules.withLock { rules in
            let servers = rules.servers ?? ["\(base)\(rules.issuer)", "https://other.example"]
            switch path {
            case "/.well-known/oauth-protected-resource/mcp" where rules.isDescribed:
                return Raw.ok(
                    """
                    {"resource":"\(base)\(rules.resource)","scopes_supported":["all"],
                     "authorization_servers":["\(servers.joined(separator: "\",\""))"]}
                    """,
                    json
                )
            case "/.well-known/oauth-authorization-server\(rules.issuer)":
                return Raw.ok(
                    """
                    {"issuer":"\(base)\(rules.issuer)","token_endpoint":"\(base)/token",
                     "authorization_endpoint":"\(base)/authorize",
                     "registration_endpoint":"\(base)/register",
                     "token_endpoint_auth_methods_supported":["client_secret_post"]
                     \(rules.metadata)}
                    """,
                    json
                )
            case "/register":
                rules.issued += 1
                let id = "client-\(rules.issued)"
                rules.clients.insert(id)
                return Raw.response(
                    "201 Created",
                    fields: [json],
                    body: #"{"client_id":"\#(id)","client_secret":"c4nary-s\#(rules.issued)"}"#
                )
            case "/token": return Self.token(request.body, &rules)
            default: return resource(path, request, rules)
            }
        }
    }

    private static func token(_ body: String, _ rules: inout Rules) -> String {
        let json = "Content-Type: application/json"
        let id = FormDecoding.decode(body).first { $0.name == "client_id" }?.value ?? ""
        guard rules.clients.contains(id) else {
            return Raw.response(
                "401 Unauthorized",
                fields: [json],
                body: #"{"error":"invalid_client"}"#
            )
        }
        rules.issued += 1
        let token = "c4nary-a\(rules.issued)"
        rules.tokens.insert(token)
        return Raw.ok(
            #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600,"#
                + #""refresh_token":"c4nary-r\#(rules.issued)"}"#,
            json
        )
    }

    private func resource(_ path: String, _ request: RawMessage, _ rules: Rules) -> String {
        let token = request["Authorization"]?.dropFirst("Bearer ".count) ?? ""
        guard rules.tokens.contains(String(token)) else {
            guard rules.isDescribed else { return Raw.response("401 Unauthorized") }
            return Raw.response(
                "401 Unauthorized",
                fields: [
                    #"WWW-Authenticate: Bearer resource_metadata="\#(place)", scope="read""#
                ]
            )
        }
        if path == "/mcp/write", let missing = rules.missing {
            return Raw.response(
                "403 Forbidden",
                fields: [
                    #"WWW-Authenticate: Bearer error="insufficient_scope", scope="\#(missing)", "#
                        + #"resource_metadata="\#(place)""#
                ]
            )
        }
        return Raw.ok("tools")
    }

    func channel(_ more: String = "") -> String {
        """
        tools:
          upstream: \(base)/mcp
          auth:
            oauth:
              discover: true
        """ + (more.isEmpty ? "" : "\n      \(more)")
    }

    /// Returns the bodies posted to a path.
    func bodies(_ path: String) -> [String] {
        origin.requests.filter { $0.startLine.hasPrefix("POST \(path) ") }.map(\.body)
    }
}
