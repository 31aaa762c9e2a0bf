import NetproxyConfig
import NetproxySettings
import Testing

/// Tests of requests signed with a shared key.
@Suite struct HMACTests {
    private func settings(_ hmac: String) throws -> HMACSettings? {
        try channel("auth: { hmac: { \(hmac) } }").authentication.settings(HMACSettings.self)
    }

    @Test func `hmac requires only a key and a message`() throws {
        let settings = try #require(
            try settings("key: 'env:K', message: \"{method}\\n{target}{x\"")
        )
        #expect(settings.key == .environment("K") && settings.keyEncoding == .text)
        #expect(settings.algorithm == .sha256 && settings.encoding == .hex)
        #expect(settings.date == .unix && settings.fields.isEmpty)
        #expect(
            settings.message.parts == [
                .word(.method), .text("\n"), .word(.target), .text("{x"),
            ]
        )
    }

    @Test func `hmac accepts all its keys`() throws {
        let settings = try #require(
            try settings(
                "key: 'env:K', key_encoding: base64, algorithm: sha512, encoding: base64, "
                    + "date: unix_ms, message: '{\"t\":{timestamp}}{body}', "
                    + "fields: { X-Id: me, X-Time: '{timestamp}' }"
            )
        )
        #expect(settings.keyEncoding == .base64 && settings.algorithm == .sha512)
        #expect(settings.encoding == .base64 && settings.date == .unixMilliseconds)
        #expect(
            settings.message.parts == [
                .text("{\"t\":"), .word(.timestamp), .text("}"), .word(.body),
            ]
        )
        #expect(
            settings.fields == [
                .init(name: "X-Id", value: SignedText([.text("me")])),
                .init(name: "X-Time", value: SignedText([.word(.timestamp)])),
            ]
        )
    }

    @Test(arguments: [
        ("message: x", "hmac.key: required"), ("key: 'env:K'", "hmac.message: required"),
        ("key: 'env:K', message: '{verb}'", "hmac.message: unknown word {verb}, expected {method}"),
        (
            "key: 'env:K', message: x, algorithm: md5",
            "hmac.algorithm: expected sha256, sha512 or sha1"
        ),
        ("key: 'env:K', message: x, encoding: text", "hmac.encoding: expected hex or base64"),
        ("key: 'env:K', message: x, date: now", "hmac.date: expected unix, unix_ms, rfc1123"),
        (
            "key: 'env:K', message: x, fields: { X: '{body}' }",
            "hmac.fields.X: expected a header value"
        ),
        ("key: 'env:K', message: x, fields: { Host: a }", "hmac.fields.Host: "),
        (
            "key: 'env:K', message: '{timestamp}'",
            "hmac.fields: the message has {timestamp}, which the API needs to verify the signature"
        ),
    ])
    func `the error of an invalid hmac value says what was expected`(hmac: String, expected: String)
    {
        let found = errors(inChannel: "auth: { hmac: { \(hmac) } }")
        #expect(found.count == 1 && found[0].contains("auth.\(expected)"), "\(found)")
    }

    @Test func `a signature requires one upstream, a known host and no place in the path`() {
        let hmac = "hmac: { key: 'env:K', message: '{host}' }"
        let app = errors(inChannel: "auth: { \(hmac) }\nhost: app")
        #expect(app.count == 1 && app[0].contains("a.host: auth.hmac signs the Host"))
        let path = errors(inChannel: "auth: { \(hmac), in: path }")
        #expect(
            path.count == 1 && path[0].contains("auth.in: a signature does not go into the path")
        )
        let several = errors(
            in: "channels: { a: { upstream: ['https://a', 'https://b'], auth: { \(hmac) } } }"
        )
        #expect(several.count == 1 && several[0].contains("auth.hmac has one upstream"))
        let rule = errors(
            inChannel: "auth: { hmac: { key: 'env:K', message: x, fields: { X-Id: a } } }\n"
                + "headers: { set: { x-id: b } }"
        )
        #expect(rule.count == 1 && rule[0].contains("auth sets X-Id; remove this rule"))
    }
}
