import NetproxyBytes
import TestSupport
import Testing

@testable import NetworkCore

/// The removal of sent secrets from responses.
@Suite struct SentSecretsTests {
    private static let secret = "s3/cr+t&k<y-01"
    private static let mark = "%7Bcredential%7D"

    /// The forms in which an API may repeat the secret.
    private static let spellings = [
        secret, "s3%2Fcr%2Bt%26k%3Cy-01", "s3%2fcr%2bt&k%3cy-01", "s3%252Fcr%252Bt%2526k%253Cy-01",
        "%73%33%2F%63%72%2B%74%26%6B%3C%79%2D%30%31", #"s3\/cr+t\u0026k\u003cy-01"#,
        "s3/cr+t&amp;k&lt;y-01", "s3&#x2F;cr&#43;t&#38;k&#60;y-01", "s3_cr-t&k<y-01",
    ]

    private static func secrets(_ values: String...) throws -> SentSecrets {
        var context = RequestContext()
        context.scrubbed = SecretSearch(
            values.map { Secret($0) },
            ofAtLeast: SecretSearch.shortestRemoved
        )
        return try #require(context.sentSecrets)
    }

    private static func text(_ body: HTTPBody) async throws -> String {
        String(decoding: try await body.collect(upTo: 1 << 20).array, as: UTF8.self)
    }

    @Test(arguments: spellings)
    func `a secret is removed in every spelling, wherever the pieces are split`(spelling: String)
        async throws
    {
        let content = "{\"a\": \"\(spelling)\", \"b\": \"s3/cr\"}"
        let expected = "{\"a\": \"\(Self.mark)\", \"b\": \"s3/cr\"}"
        let secrets = try Self.secrets(Self.secret)
        #expect(try await Self.text(secrets.removed(from: .bytes(ByteSlice(content)))) == expected)
        for split in 1..<content.utf8.count {
            let pieces = [
                String(decoding: content.utf8.prefix(split), as: UTF8.self),
                String(decoding: content.utf8.dropFirst(split), as: UTF8.self),
            ]
            let body = HTTPBody.stream(PiecedBody(pieces), length: nil)
            // A receiver gets at most the first three bytes of a secret before the mark.
            let text = try await Self.text(secrets.removed(from: body))
            let shown = text.replacing(Self.mark, with: "")
            #expect(text.contains(Self.mark), "\(split): \(text)")
            #expect(shown.utf8.count <= expected.utf8.count - Self.mark.utf8.count + 3, "\(text)")
        }
    }

    @Test func `a secret that arrives byte by byte is removed`() async throws {
        let secrets = try Self.secrets(Self.secret)
        for spelling in Self.spellings {
            let pieces = "x\(spelling)y".utf8.map { String(decoding: [$0], as: UTF8.self) }
            let body = HTTPBody.stream(PiecedBody(pieces), length: nil)
            let text = try await Self.text(secrets.removed(from: body))
            #expect(text.hasSuffix("\(Self.mark)y") && text.utf8.count <= 5 + Self.mark.utf8.count)
        }
    }

    @Test func `base64 of a secret is removed after any number of other bytes`() async throws {
        let secrets = try Self.secrets("0123456789")
        for before in ["", "a", "ab"] {
            let encoded = Base64.encode(Array("\(before)0123456789z".utf8))
            let text = try await Self.text(
                secrets.removed(from: .bytes(ByteSlice("x \(encoded) y")))
            )
            #expect(text.contains(Self.mark) && !text.contains(encoded))
        }
    }

    @Test func `content without the secret is unchanged and never held back`() async throws {
        let secrets = try Self.secrets(Self.secret)
        for content in ["s3/", "data: s3", "a&", "50%", "\\u", "%25", "", "s3/cr+t&k<y-0"] {
            let body = secrets.removed(from: .stream(PiecedBody([content]), length: nil))
            guard case .stream(let source, _) = body else { return }
            if content.utf8.count < 8, !content.isEmpty {
                #expect(try await source.next() == ByteSlice(content))
            }
            let rest = try await Self.text(.stream(source, length: nil))
            #expect(content.utf8.count < 8 ? rest.isEmpty : rest == content)
        }
        #expect(!secrets.isEchoed)
    }

    @Test func `two secrets side by side are both removed`() async throws {
        let secrets = try Self.secrets("first-secret", "second-secret")
        let pieces = ["first-secretfirst-sec", "retsecond-", "secretsecond-secre"]
        let body = secrets.removed(from: .stream(PiecedBody(pieces), length: nil))
        let text = try await Self.text(body)
        #expect(text == "\(Self.mark)\(Self.mark)\(Self.mark)second-secre")
        #expect(secrets.isEchoed)
    }

    @Test func `a value of fewer than eight bytes is not removed`() {
        var context = RequestContext()
        context.scrubbed = SecretSearch(
            [Secret("1234567")],
            ofAtLeast: SecretSearch.shortestRemoved
        )
        #expect(context.sentSecrets == nil)
    }

    @Test func `the parts of a Basic credential are removed from fields`() throws {
        let authorizer = try StaticAuthorizer.basic(
            username: "someone",
            password: Secret("pa ss/word")
        )
        let credential = authorizer.credential(until: nil)
        for text in [
            "someone:pa ss/word", "pa ss/word", "pa+ss%2Fword", credential.bare.reveal(),
            "Basic \(credential.bare.reveal())",
        ] {
            var context = RequestContext()
            context.scrubbed = SecretSearch([], ofAtLeast: SecretSearch.shortestRemoved)
            context.sentCredential = credential
            var headers: HTTPHeaders = ["X-Short": "pa ss", "X-Echo": "is \(text)."]
            context.scrub(&headers)
            #expect(headers["X-Echo"]?.hasSuffix("\(Self.mark).") == true, "\(text)")
            #expect(headers["X-Short"] == "pa ss")
            #expect(context.hasEcho)
        }
    }
}
