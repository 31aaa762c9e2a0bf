import NetworkCore
import OAuth
import TestSupport
import Testing

/// Sign-ins on another device.
@Suite struct DeviceFlowTests {
    private let server = ScriptedServer()
    private let clock = ManualClock(sleeping: .skipped)
    private let codes =
        #"{"device_code":"d1","user_code":"WDJB-MJHT","verification_uri":"https://l.example/d""#

    private func flow(
        of service: TokenEndpointClient? = nil,
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> DeviceFlow {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configure(&configuration)
        var metadata = ServerMetadata(issuer: "https://login.example.com")
        metadata.deviceEndpoint = ServerEndpoint("https://login.example.com/device")
        return DeviceFlow(
            service: service ?? TokenEndpointClient(transport: server, clock: clock),
            transport: server,
            server: metadata,
            configuration: configuration,
            clock: clock
        )
    }

    private func refuse(_ error: String) -> ScriptedServer.Answer {
        .json(400, #"{"error":"\#(error)"}"#)
    }

    private func failure(_ flow: DeviceFlow) async throws -> String {
        let code = try await flow.begin()
        do {
            _ = try await flow.tokens(for: code)
            return ""
        } catch {
            return "\(error)"
        }
    }

    /// How long each sleep was, in seconds.
    private var pauses: [Int64] { clock.slept.map(\.components.seconds) }

    @Test func `the codes are requested as the configured client`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600,"interval":7,"error":""}"#))
        let code = try await flow().begin()
        #expect(code.userCode == "WDJB-MJHT")
        #expect(code.page == "https://l.example/d")
        #expect(code.completePage == nil)
        #expect(code.lifetime == .seconds(600))
        let request = try #require(server.seen.first)
        #expect(request.form == ["scope": "read"])
        #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
    }

    @Test func `the codes may come in a form, with numbers as text`() async throws {
        server.script(
            "/device",
            .form(
                200,
                "device_code=d1&user_code=A&verification_uri=https%3A%2F%2Fl%2Fd&interval=7"
                    + "&expires_in=90"
            )
        )
        let code = try await flow().begin()
        #expect(code.page == "https://l/d")
        #expect(code.lifetime == .seconds(90))
        server.script(
            "/token",
            .form(200, "error=authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        #expect(try await flow().tokens(for: code).response.accessToken == Secret("t"))
    }

    @Test func `the codes are requested with scope, audience and resources`() async throws {
        server.script("/device", .json(200, codes + "}"))
        let flow = flow {
            $0.audience = "api"
            $0.resources = ["urn:a"]
            $0.parameters = [FormParameter("tenant", "x")]
        }
        _ = try await flow.begin()
        #expect(
            server.seen.first?.form
                == ["scope": "read", "audience": "api", "resource": "urn:a", "tenant": "x"]
        )
    }

    @Test func `the codes are requested at the server's time of day`() async throws {
        server.script("/device", .json(200, codes + "}"))
        let key = try SigningKey(pem: SampleKeys.p256)
        let service = TokenEndpointClient(transport: server, clock: clock)
        service.serverClock.learn(from: [.date: "Fri, 15 Jan 2027 09:00:00 GMT"])
        let flow = flow(of: service) {
            $0.clientAuthentication = .privateKeyJWT
            $0.clientKey = key
        }
        _ = try await flow.begin()
        let assertion = Secret(try #require(server.seen.first?.form["client_assertion"]))
        #expect(try SignedToken(assertion).claims["iat"] as? Int == 1_800_003_600)
    }

    @Test func `polling keeps the server's interval, and slow_down adds 5 s to it`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600,"interval":"3"}"#))
        server.script(
            "/token",
            refuse("authorization_pending"),
            refuse("slow_down"),
            refuse("authorization_pending"),
            refuse("slow_down"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        let response = try await flow.tokens(for: try await flow.begin()).response
        #expect(response.refreshToken?.reveal() == "r")
        #expect(pauses == [3, 3, 8, 8, 13])
        let polls = server.seen.dropFirst()
        #expect(polls.allSatisfy { $0.form["device_code"] == "d1" })
        #expect(
            polls.allSatisfy {
                $0.form["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"
            }
        )
    }

    @Test func `lifetimes count from the poll that returned the tokens`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600,"interval":100}"#))
        server.script(
            "/token",
            refuse("authorization_pending"),
            refuse("authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        let began = clock.wallNow
        let signedIn = try await flow.tokens(for: try await flow.begin())
        #expect(signedIn.asked - began == .seconds(300))
    }

    @Test func `the default interval is 5 s, and verification_url is accepted`() async throws {
        server.script(
            "/device",
            .json(200, #"{"device_code":"d","user_code":"u","verification_url":"https://l/d"}"#)
        )
        server.script("/token", .json(200, ScriptedServer.good))
        let flow = flow()
        let code = try await flow.begin()
        #expect(code.page == "https://l/d")
        _ = try await flow.tokens(for: code)
        #expect(pauses == [5])
    }

    @Test func `the interval is at least a second`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600,"interval":0}"#))
        server.script(
            "/token",
            refuse("authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [1, 1])
    }

    @Test func `the interval is at most five minutes`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":3600,"interval":1000}"#))
        server.script(
            "/token",
            refuse("authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [300, 300])
    }

    @Test func `polls of a server that cannot be reached back off`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600}"#))
        server.script(
            "/token",
            .unreachable,
            .lost,
            .json(503, ""),
            refuse("authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [5, 10, 15, 20, 5])
    }

    @Test(
        arguments: [
            (503, "temporarily_unavailable"), (500, "server_error"), (429, "too_many_requests"),
            (400, "temporarily_unavailable"),
        ] as [(HTTPStatus, String)]
    )
    func `a server in trouble that says so in words is polled on`(
        _ status: HTTPStatus,
        _ error: String
    ) async throws {
        server.script("/device", .json(200, codes + #","expires_in":600}"#))
        server.script(
            "/token",
            .json(status, #"{"error":"\#(error)"}"#),
            refuse("authorization_pending"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [5, 10, 5])
    }

    @Test func `Retry-After is honored, but not below the interval`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":600}"#))
        server.script(
            "/token",
            .busy(503, #"{"error":"temporarily_unavailable"}"#, retryAfter: "42"),
            .busy(400, #"{"error":"authorization_pending"}"#, retryAfter: "20"),
            .busy(400, #"{"error":"slow_down"}"#, retryAfter: "1"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow()
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [5, 42, 20, 10])
    }

    @Test func `Retry-After is honored up to the limit`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":3600}"#))
        server.script(
            "/token",
            .busy(503, "", retryAfter: "1000"),
            .json(200, ScriptedServer.good)
        )
        let flow = flow { $0.retryAfterLimit = .seconds(60) }
        _ = try await flow.tokens(for: try await flow.begin())
        #expect(pauses == [5, 60])
    }

    @Test func `a Retry-After beyond the code's expiry leaves one poll before it`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":60}"#))
        server.script(
            "/token",
            .busy(503, "", retryAfter: "86400"),
            refuse("authorization_pending")
        )
        #expect(try await failure(flow()) == "no one signed in within 60 s")
        #expect(pauses == [5, 50])
    }

    @Test func `polling ends when the code expires`() async throws {
        server.script("/device", .json(200, codes + #","expires_in":12}"#))
        server.script("/token", refuse("authorization_pending"))
        #expect(try await failure(flow()) == "no one signed in within 12 s")
        #expect(pauses == [5, 5])
    }

    @Test(arguments: [
        ("access_denied", "the sign-in was denied"),
        ("expired_token", "the code has expired; start again"),
        (
            "invalid_grant",
            "the token endpoint https://login.example.com refused the request (invalid_grant)"
        ),
    ])
    func `a refusal ends it at once`(error: String, words: String) async throws {
        server.script("/device", .json(200, codes + #","expires_in":600}"#))
        server.script("/token", refuse(error))
        #expect(try await failure(flow()) == words)
        #expect(server.seen.count == 2)
    }

    @Test(arguments: [
        #"{"error":"unauthorized_client","error_description":"no devices"}"#, "<html>", "{}",
        #"{"device_code":"d","user_code":"a\u001b[31m","verification_uri":"https://l/d"}"#,
        #"{"device_code":"d","user_code":"a","verification_uri":"javascript:alert(1)"}"#,
    ])
    func `a response without codes, or with codes unfit for a terminal, is an error`(
        body: String
    ) async {
        server.script("/device", .json(200, body))
        await #expect(throws: SignInError.self) { try await flow().begin() }
    }
}
