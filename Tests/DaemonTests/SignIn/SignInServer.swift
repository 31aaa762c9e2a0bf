import Synchronization
import TestSupport

/// An authorization server that signs in every user, and an API that accepts its tokens.
final class SignInServer: Sendable {
    let origin: OriginServer
    /// Opens when the code or token `held` is presented; the response is sent when `released` opens.
    let asked: Gate
    let released: Gate

    private init(_ origin: OriginServer, asked: Gate, released: Gate) {
        self.origin = origin
        self.asked = asked
        self.released = released
    }

    static func start() async throws -> SignInServer {
        let port = Mutex(0)
        let (asked, released) = (Gate(), Gate())
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                if request.body.contains("=held") {
                    asked.open()
                    try await released.wait()
                }
                let issuer = "http://127.0.0.1:\(port.withLock { $0 })"
                try await wire.send(SignInServer.answer(request, issuer))
            }
        }
        port.withLock { $0 = origin.port }
        return SignInServer(origin, asked: asked, released: released)
    }

    private static func answer(_ request: RawMessage, _ issuer: String) -> String {
        let json = "Content-Type: application/json"
        switch request.startLine.split(separator: " ")[1] {
        case "/.well-known/oauth-authorization-server":
            return Raw.ok(
                """
                {"issuer":"\(issuer)","token_endpoint":"\(issuer)/token",
                 "authorization_endpoint":"\(issuer)/authorize",
                 "device_authorization_endpoint":"\(issuer)/device",
                 "revocation_endpoint":"\(issuer)/revoke",
                 "token_endpoint_auth_methods_supported":["none"]}
                """,
                json
            )
        case "/device":
            return Raw.ok(
                #"{"device_code":"d","user_code":"ABCD","verification_uri":"https://l/d","#
                    + #""interval":1,"expires_in":90}"#,
                json
            )
        case "/token":
            if request.body.contains("code=bad") {
                return Raw.response(
                    "400 Bad Request",
                    fields: [json],
                    body: #"{"error":"invalid_grant","error_description":"<b>no</b>"}"#
                )
            }
            return Raw.ok(
                #"{"access_token":"c4nary-a","token_type":"Bearer","expires_in":3600,"#
                    + #""refresh_token":"c4nary-r"}"#,
                json
            )
        case "/revoke", "/withdraw": return Raw.ok("")
        default:
            return request["Authorization"] == "Bearer c4nary-a"
                ? Raw.ok("mail") : Raw.response("401 Unauthorized")
        }
    }

    func channel(_ grant: String = "authorization_code") -> String {
        """
        mail:
          upstream: http://127.0.0.1:\(origin.port)/api
          auth:
            oauth:
              grant: \(grant)
              issuer: http://127.0.0.1:\(origin.port)
              client_id: app
              client_auth: none
        """
    }

    /// Returns the forms posted to a path.
    func forms(_ path: String) -> [String] {
        origin.requests.filter { $0.startLine.hasPrefix("POST \(path) ") }.map(\.body)
    }
}
