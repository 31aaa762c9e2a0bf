import FoundationEssentials
import NetproxyConfig
import NetproxyCryptography
import NetproxySettings
import NetworkCore
import TestSupport
import Testing

@testable import NetproxyChannels

/// Signatures of requests with a shared key.
@Suite struct RequestSignatureTests {
    private let clock = ManualClock(wall: 1_800_000_000.5)

    private func settings(
        _ message: String,
        _ fields: [(String, String)] = [],
        date: HMACSettings.DateForm = .unix
    ) throws -> HMACSettings {
        let lines = ([("X-Sent", "{timestamp}")] + fields).map { "\($0.0): '\($0.1)'" }
        let text = """
            channels:
              a:
                upstream: https://a.example
                auth:
                  hmac:
                    key: literal:k
                    message: "\(message.replacing("\n", with: "\\n"))"
                    fields: { \(lines.joined(separator: ", ")) }
                    date: \(date.rawValue)
            """
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let authentication = configuration.channels[0].authentication
        guard let settings = authentication.settings(HMACSettings.self) else {
            throw SecretError("no hmac in \(text)")
        }
        return settings
    }

    private func signed(
        _ settings: HMACSettings,
        _ place: CredentialPlace = .header(.authorization),
        target: String = "/v1/pay?b=2&a=1",
        body: HTTPBody = .bytes(ByteSlice(#"{"x":1}"#)),
        limit: Int = 64
    ) async throws -> Request {
        let rules = RequestSignature.Rules(settings, place, contentLimit: limit, clock: clock)
        var request = Request(
            method: .post,
            origin: Origin(scheme: .https, host: "api.example.com", port: 8443),
            target: target,
            headers: ["X-Time": "the app's", "X_Time": "the app's"],
            body: body
        )
        try await RequestSignature(rules, key: Secret("k")).sign(&request)
        return request
    }

    private func code(_ text: String) -> String {
        KeyedHash.sha256.authenticationCode(of: Array(text.utf8), key: [0x6B])
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test(arguments: [
        ("{method}\n{target}", "POST\n/v1/pay?b=2&a=1"),
        ("{path}|{query}|{host}", "/v1/pay|b=2&a=1|api.example.com:8443"),
        ("{timestamp}{method}{target}{body}", "1800000000POST/v1/pay?b=2&a=1{\"x\":1}"),
        ("{timestamp+60s} {timestamp+1h}{nonce+1s}", "1800000060 1800003600{nonce+1s}"),
        (
            "{body_sha256}",
            "5041bf1f713df204784353e82f6a4a535931cb64f1f4b4a5aeaffcb720918b22"
        ),
        ("plain", "plain"),
    ])
    func `the placeholders of a message are replaced by parts of the request`(
        message: String,
        text: String
    ) async throws {
        let request = try await signed(try settings(message))
        #expect(request.headers[.authorization] == code(text))
    }

    @Test(arguments: [
        (HMACSettings.DateForm.unix, "1800000000"), (.unixMilliseconds, "1800000000500"),
        (.rfc1123, "Fri, 15 Jan 2027 08:00:00 GMT"), (.iso8601, "2027-01-15T08:00:00Z"),
    ])
    func `the fields and the message contain the same time`(
        date: HMACSettings.DateForm,
        text: String
    ) async throws {
        let request = try await signed(
            try settings("{timestamp}", [("X-Id", "me"), ("X-Time", "{timestamp}")], date: date)
        )
        #expect(request.headers["X-Time"] == text)
        #expect(request.headers["X-Id"] == "me")
        #expect(!request.headers.contains("X_Time"))
        #expect(request.headers[.authorization] == code(text))
    }

    @Test func `every request has a new nonce`() async throws {
        let settings = try settings("{nonce}", [("X-Nonce", "{nonce}")])
        var nonces: Set<String> = []
        for _ in 1...2 {
            let request = try await signed(settings)
            let nonce = try #require(request.headers["X-Nonce"])
            #expect(nonce.utf8.count == 32 && request.headers[.authorization] == code(nonce))
            nonces.insert(nonce)
        }
        #expect(nonces.count == 2)
    }

    @Test func `the signature is sent in the configured place`() async throws {
        let field = try await signed(
            try settings("m"),
            .header("X-Signature", prefix: "v1=")
        )
        #expect(field.headers["X-Signature"] == "v1=\(code("m"))")
        let query = try await signed(
            try settings("{target}"),
            .query("sig"),
            target: "/a?sig=forged&b=1"
        )
        #expect(query.target == "/a?b=1&sig=\(code("/a?b=1"))")
    }

    @Test func `content is read only if it is signed`() async throws {
        let long = HTTPBody.bytes(ByteSlice(String(repeating: "x", count: 65)))
        _ = try await signed(try settings("{method}"), body: long)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await signed(try settings("{body_sha256}"), body: long)
        }
        #expect(error?.kind == .httpRequestError && error?.ownStatus == 413)
        #expect(error?.detail.contains("64 bytes of retry.replay_body") == true)
    }

    @Test func `the clock offset is learned from a refusal of the API`() async throws {
        let settings = try settings("{timestamp}", [("X-Time", "{timestamp}")])
        let rules = RequestSignature.Rules(
            settings,
            .header(.authorization),
            contentLimit: 0,
            clock: clock
        )
        let signature = try RequestSignature(rules, key: Secret("k"))
        let origin = Origin(scheme: .https, host: "api.example.com")
        var stamps: [String?] = []
        for status in [200, 403] as [HTTPStatus] {
            var headers: HTTPHeaders = [:]
            headers.append(.date, validated: "Fri, 15 Jan 2027 09:00:00 GMT")
            signature.learn(from: Response(status: status, headers: headers))
            var request = Request(origin: origin, target: "/")
            try await signature.sign(&request)
            stamps.append(request.headers["X-Time"])
        }
        #expect(stamps == ["1800000000", "1800003600"])
    }

    @Test(
        arguments: [
            (SharedKeyEncoding.text, "ab", [0x61, 0x62]), (.hex, "aB01", [0xAB, 1]),
            (.base64, "qwE=", [0xAB, 1]), (.hex, "abc", nil), (.hex, "xy", nil),
            (.base64, "?", nil),
        ] as [(SharedKeyEncoding, String, [UInt8]?)]
    )
    func `a key can be written as text, hexadecimal or base64`(
        encoding: SharedKeyEncoding,
        text: String,
        bytes: [UInt8]?
    ) {
        #expect((try? encoding.bytes(of: Secret(text))) == bytes)
    }
}
