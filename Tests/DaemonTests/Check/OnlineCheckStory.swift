import NetproxyConfig
import NetworkCore
import TestSupport
import Testing

@testable import NetproxyCommands

/// The checks of `netproxy check --online` and their output.
@Suite struct OnlineCheckStory {
    private func outcomes(_ channels: String) async throws -> [OnlineCheck.Outcome] {
        let text = """
            channels:
            \(channels.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
            """
        let configuration = try ConfigurationLoader.load(
            bytes: Array(text.utf8),
            file: "netproxy.yaml",
            environment: ["HOME": "/nowhere"]
        ).get()
        let check = try OnlineCheck(configuration, environment: [:])
        defer { check.close() }
        return await check.run()
    }

    @Test func `the check connects to an upstream but sends no request`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("here") }
        let found = try await outcomes(
            "orders: { upstream: http://127.0.0.1:\(origin.port), auth: { bearer: 'literal:s3cret' } }"
        )
        #expect(found.count == 1 && found[0].isFailure == false)
        #expect(found[0].subject == "channel orders: http://127.0.0.1:\(origin.port)")
        #expect(found[0].words.hasPrefix("connected in "))
        #expect(origin.requests.isEmpty)
    }

    @Test func `a failure is named, and the remaining checks run`() async throws {
        let certificate = try SelfSignedCertificate(names: "IP:127.0.0.1")
        let server = try TLSServer(certificate)
        let url = "https://\(server.address)"
        let found = try await outcomes(
            """
            refused: { upstream: 'http://127.0.0.1:\(RefusingPort.any())' }
            stranger: { upstream: '\(url)' }
            trusted: { upstream: '\(url)', tls: { ca: \(certificate.file) } }
            stubbed: { stub: [{ body: here }] }
            """
        )
        #expect(found.map(\.isFailure) == [true, true, false])
        #expect(found[0].words.hasPrefix("connection_refused: "))
        #expect(found[1].words.hasPrefix("tls_certificate_error: "))
        #expect(found[2].words.hasPrefix("connected in "))
        #expect(server.received.value == 0)
    }

    @Test func `the check assumes an AWS role, but does not use plain keys`() async throws {
        let server = try await OriginServer.start { _ in
            Raw.response("403 Forbidden", body: "<Error><Code>AccessDenied</Code></Error>")
        }
        let keys =
            "access_key_id: KEY1, secret_access_key: 'literal:s3cret', region: r, service: s3"
        let role = "role: { arn: 'arn:aws:iam::1:role/r', url: 'http://127.0.0.1:\(server.port)' }"
        let found = try await outcomes(
            """
            plain: { upstream: 'http://127.0.0.1:\(server.port)', auth: { aws: { \(keys) } } }
            taken: { upstream: 'http://127.0.0.1:\(server.port)', auth: { aws: { \(keys), \(role) } } }
            """
        )
        #expect(found.map(\.isFailure) == [false, false, true])
        #expect(found.last?.subject == "channel taken: credentials for AWS")
        #expect(found.last?.words == "STS for arn:aws:iam::1:role/r answered 403 AccessDenied")
    }

    @Test(arguments: [
        (
            #"{"access_token":"t","token_type":"Bearer","expires_in":60}"#, "200 OK", false,
            "issued a token that is valid for 60 s"
        ),
        (#"{"error":"invalid_client"}"#, "401 Unauthorized", true, "invalid_client"),
    ])
    func `the check tries a client's own credentials`(
        answer: String,
        status: String,
        isFailure: Bool,
        words: String
    ) async throws {
        let server = try await OriginServer.start { _ in
            Raw.response(status, fields: ["Content-Type: application/json"], body: answer)
        }
        let found = try await outcomes(
            """
            orders:
              upstream: http://127.0.0.1:\(server.port)
              auth:
                oauth:
                  token_url: http://127.0.0.1:\(server.port)/token
                  client_id: orders
                  client_secret: literal:s3cret
            """
        )
        #expect(found.count == 2)
        #expect(found[1].subject.hasSuffix("token endpoint http://127.0.0.1:\(server.port)/token"))
        #expect(found[1].isFailure == isFailure)
        #expect(found[1].words.contains(words) && !found[1].words.contains("s3cret"))
    }

    @Test func `the check does not present a refresh token`() async throws {
        let server = try await OriginServer.start { _ in
            Raw.response("405 Method Not Allowed", body: "")
        }
        let found = try await outcomes(
            """
            mail:
              upstream: http://127.0.0.1:\(server.port)
              auth:
                oauth:
                  grant: refresh_token
                  token_url: http://127.0.0.1:\(server.port)/token
                  issuer: http://127.0.0.1:\(RefusingPort.any())
                  client_id: mail
                  client_auth: none
                  refresh_token: literal:r3fresh
            """
        )
        #expect(found.map(\.isFailure) == [false, false])
        #expect(found[1].words == "answers (status 405); no refresh token was presented")
        #expect(server.requests.map(\.startLine) == ["GET /token HTTP/1.1"])
        #expect(server.requests.map(\.body) == [""])
    }
}
