import NetproxyAWSSigning
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Credentials that expire, are refused, or sign with the wrong time.
@Suite struct AWSAuthorizerTests {
    /// Issues numbered keys, each for an hour.
    private final class Source: AWSCredentialSource {
        private let count = Mutex(0)
        private let isFixed: Bool
        private let lifetime: Duration?

        init(isFixed: Bool = false, lifetime: Duration? = .seconds(3600)) {
            (self.isFixed, self.lifetime) = (isFixed, lifetime)
        }

        var issued: Int { count.withLock { $0 } }

        func credentials(
            _ reason: OAuthEvent.Reason,
            until deadline: ContinuousClock.Instant
        ) async throws(TokenFailure) -> IssuedCredentials {
            let number = count.withLock { count in
                count += 1
                return isFixed ? 1 : count
            }
            let credentials = AWSCredentials(
                accessKeyID: "KEY\(number)",
                secretAccessKey: Secret("secret-of-the-test")
            )
            guard let credentials else { throw TokenFailure(.transient, detail: "none") }
            return IssuedCredentials(credentials, lifetime: lifetime)
        }
    }

    private let clock = ManualClock(wall: Samples.noon)

    private func authorizer(_ source: Source) -> AWSAuthorizer {
        AWSAuthorizer(
            AWSAuthorizer.manager(of: source, clock: clock) { _ in },
            AWSRequestSigner.Options(
                scope: SigningScope(region: "eu-central-1", service: "dynamodb"),
                contentLimit: 1024
            )
        )
    }

    private func chain(_ authorizer: AWSAuthorizer, to upstream: Upstream) -> RequestChain {
        var stack = InterceptorStack()
        stack.signing = InterceptorStack.Signing(
            by: authorizer,
            for: Origin(scheme: .https, host: "api.example"),
            replayLimit: 64 * 1024
        )
        stack.signing?.refusals = RefusalRule(further: AWSRefusal.further)
        return stack.chain(to: upstream)
    }

    /// The key that signs a request.
    private static func key(of arrived: Upstream.Arrived) -> String {
        let value = arrived.token ?? ""
        return String(value.drop { $0 != "=" }.dropFirst().prefix { $0 != "/" })
    }

    private static func refusal(_ words: String, _ status: HTTPStatus = 400) -> Response {
        Response(status: status, body: words.isEmpty ? .empty : .bytes(ByteSlice(words)))
    }

    /// A refusal in which a field names the error.
    private static func refusal(_ field: HTTPField, _ words: String) -> Response {
        var response = refusal(words, 403)
        response.headers.append(field)
        return response
    }

    private static let ended = "The security token included in the request is expired"

    @Test func `requests share credentials until these are about to expire`() async throws {
        let source = Source()
        let authorizer = authorizer(source)
        let first = try await authorizer.credential(until: nil)
        #expect(authorizer.currentCredential() == first)
        #expect(authorizer.kind == "aws")
        clock.advance(by: .seconds(3590))
        #expect(authorizer.currentCredential() == nil)
        let second = try await authorizer.credential(until: nil)
        #expect(second.generation == 2)
        #expect(source.issued == 2)
    }

    @Test(arguments: [
        (400 as HTTPStatus, #"{"__type":"com.amazon.coral.service#ExpiredTokenException"}"#),
        (403, "<Error><Code>ExpiredToken</Code></Error>"),
        (403, #"{"message":"The security token included in the request is expired"}"#),
        (400, #"{"__type":"UnrecognizedClientException"}"#),
        (403, "<Error><Code>InvalidAccessKeyId</Code></Error>"),
        (400, #"{"Error":{"Code":"InvalidClientTokenId","Type":"Sender"}}"#),
        (400, #"{"code":"ExpiredToken","message":1}"#),
        (403, "<Response><Errors><Error><Code>AuthFailure</Code></Error></Errors></Response>"),
        (400, "<Error><Code>InvalidToken</Code></Error>"),
        (401, ""),
    ])
    func `refused credentials are renewed, and the request is sent again`(
        status: HTTPStatus,
        words: String
    ) async throws {
        let source = Source()
        let upstream = Upstream { arrived, _ in
            Self.key(of: arrived) == "KEY1"
                ? Self.refusal(words, status) : Response(status: 200)
        }
        let chain = chain(authorizer(source), to: upstream)
        let body = HTTPBody.stream(PiecedBody(["content"]), length: nil)
        let (response, context) = try await chain.exchange(Request.forTests(.post, body: body))
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized])
        #expect(upstream.arrived.map(Self.key) == ["KEY1", "KEY2"])
        #expect(upstream.arrived.map(\.body) == ["content", "content"])
    }

    @Test func `keys that do not change are read again, and the refusal reaches the app`()
        async throws
    {
        let source = Source(isFixed: true, lifetime: nil)
        let upstream = Upstream { _, _ in
            Self.refusal("<Error><Code>InvalidClientTokenId</Code></Error>", 403)
        }
        let chain = chain(authorizer(source), to: upstream)
        let (response, context) = try await chain.exchange(.forTests())
        #expect(response.status == 403)
        #expect(context.authorization?.notReplayed == .staticCredential)
        #expect(source.issued == 2)
        #expect(upstream.arrived.count == 1)
    }

    @Test(arguments: [
        ("aws.protocols#ExpiredTokenException", true), ("AccessDeniedException", false),
        (String(repeating: "x", count: 300), false),
    ])
    func `the code is found in CBOR, too`(code: String, isRefusal: Bool) async throws {
        func text(_ text: String) -> [UInt8] {
            let count = text.utf8.count
            let head: [UInt8] =
                count < 24
                ? [0x60 | UInt8(count)]
                : count < 256
                    ? [0x78, UInt8(count)] : [0x79, UInt8(count >> 8), UInt8(count & 255)]
            return head + text.utf8
        }
        let content: [UInt8] =
            [0xBF] + text("message") + text(Self.ended) + text("__type") + text(code) + [0xFF]
        let upstream = Upstream { arrived, _ in
            Self.key(of: arrived) == "KEY1"
                ? Response(status: 400, body: .bytes(ByteSlice(content))) : Response(status: 200)
        }
        let (response, _) = try await chain(authorizer(Source()), to: upstream)
            .exchange(.forTests())
        #expect(response.status == (isRefusal ? 200 : 400))
    }

    @Test(arguments: [
        ("X-Amzn-ErrorType", "ExpiredTokenException:http://internal.amazon.com/coral/"),
        ("x-amzn-errortype", "com.amazon.coral.service#UnrecognizedClientException"),
        ("X-Amzn-Query-Error", "ExpiredToken;Sender"),
    ])
    func `a refusal named in a field needs no content`(name: String, value: String)
        async throws
    {
        let field = try #require(HTTPFieldName(name).flatMap { HTTPField($0, value) })
        let upstream = Upstream { arrived, _ in
            Self.key(of: arrived) == "KEY1" ? Self.refusal(field, "") : Response(status: 200)
        }
        let (response, context) = try await chain(authorizer(Source()), to: upstream)
            .exchange(.forTests(.head))
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized])
    }

    @Test(arguments: [ended, #"{"__type":"ExpiredToken","message":"Signature expired: x"}"#])
    func `where a field names another error, the content does not count`(words: String)
        async throws
    {
        let source = Source()
        let field = try #require(HTTPField("X-Amzn-ErrorType", "AccessDeniedException:"))
        let upstream = Upstream { _, _ in Self.refusal(field, words) }
        let (response, context) = try await chain(authorizer(source), to: upstream)
            .exchange(.forTests())
        #expect(response.status == 403)
        #expect(context.retries == [])
        #expect(source.issued == 1)
        #expect(try await response.body.collect(upTo: 999) == ByteSlice(words))
    }

    @Test func `EC2's word for old requests means the credentials where the clocks agree`()
        async throws
    {
        let upstream = Upstream { arrived, _ in
            guard Self.key(of: arrived) == "KEY1" else { return Response(status: 200) }
            var response = Self.refusal("<Error><Code>RequestExpired</Code></Error>")
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 12:00:02 GMT")
            return response
        }
        let (response, context) = try await chain(authorizer(Source()), to: upstream)
            .exchange(.forTests())
        #expect(response.status == 200)
        #expect(context.retries == [.unauthorized])
    }

    @Test(arguments: [
        "AccessDenied", "ExpiredToken", "<Error><Code>AccessDenied</Code></Error>",
        #"{"__type":"ValidationException","message":"ExpiredToken"}"#,
        #"{"__type":"AccessDenied","message":"\#(ended)"}"#, #"{"code":"InvalidToken"}"#,
        "<Error><Message>&lt;Code&gt;ExpiredToken&lt;/Code&gt;</Message></Error>",
        #"{"__type":"InvalidSignatureException","message":"Signature mismatch"}"#,
        "{",
    ])
    func `any other refusal is the app's`(words: String) async throws {
        let source = Source()
        let upstream = Upstream { _, _ in Self.refusal(words) }
        let (response, context) = try await chain(authorizer(source), to: upstream)
            .exchange(.forTests())
        #expect(response.status == 400)
        #expect(context.retries == [])
        #expect(source.issued == 1)
    }

    @Test(arguments: [
        "<Error><Code>RequestTimeTooSkewed</Code></Error>", #"{"code":"RequestExpired"}"#,
        #"{"message":"Signature expired: 20261127T120000Z is now earlier than"}"#,
        #"{"__type":"InvalidSignatureException","message":"Signature not yet current: 2"}"#,
        "<Error><Code>SignatureDoesNotMatch</Code><Message>Signature expired: 2</Message></Error>",
    ])
    func `a signature refused for its time is made again by the server's clock`(
        words: String
    ) async throws {
        // Our clock shows 12:00.
        for hour in ["15", "09"] { try await signAgain(at: hour, afterRefusal: words) }
    }

    private func signAgain(at hour: String, afterRefusal words: String) async throws {
        let source = Source()
        let upstream = Upstream { arrived, _ in
            let stamp = arrived.request.headers["X-Amz-Date"]
            guard stamp != "20261127T\(hour)0000Z" else { return Response(status: 200) }
            var response = Self.refusal(words, 403)
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 \(hour):00:00 GMT")
            return response
        }
        let chain = chain(authorizer(source), to: upstream)
        let (response, context) = try await chain.exchange(.forTests())
        #expect(response.status == 200)
        #expect(context.retries == [.clockSkew])
        // Learned once: the next request needs no second attempt.
        #expect(try await chain.exchange(.forTests()).1.retries == [])
        #expect(source.issued == 1)
    }

    @Test func `a refusal for the time by a server whose clock agrees is passed on`()
        async throws
    {
        let upstream = Upstream { _, _ in
            var response = Self.refusal("<Error><Code>RequestInTheFuture</Code></Error>", 403)
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 12:00:02 GMT")
            return response
        }
        let (response, context) = try await chain(authorizer(Source()), to: upstream)
            .exchange(.forTests())
        #expect(response.status == 403)
        #expect(context.retries == [])
        #expect(context.authorization?.notReplayed == .clockAgrees)
    }

    @Test(arguments: [
        ("/", false), ("/k?x-id=1", false), ("/k?X-Amz-Signature=0", true),
        ("/k?a&x%2Damz-signature=0", true), ("/k?AWSAccessKeyId=x&Signature=y", true),
        ("/k?AWSAccessKeyId=x", false), ("/k?Signature=y&Expires=1", false),
        ("/k?X-Amz-Date=x&X-Amz-Expires=1", false),
    ])
    func `a presigned URL is a signature of the app's`(target: String, isSigned: Bool) {
        var request = Request.forTests()
        request.target = target
        #expect(authorizer(Source()).isSigned(request) == isSigned)
    }

    @Test func `configured keys sign without an engine`() async throws {
        let held = try Samples.credentials("KEY9", token: "session").held()
        let authorizer = AWSAuthorizer(
            held,
            AWSRequestSigner.Options(
                scope: SigningScope(region: "eu-central-1", service: "s3"),
                contentLimit: 1024
            )
        )
        let upstream = Upstream { _, _ in
            Self.refusal("<Error><Code>ExpiredToken</Code></Error>")
        }
        let (_, context) = try await chain(authorizer, to: upstream).exchange(.forTests())
        #expect(context.authorization?.notReplayed == .staticCredential)
        #expect(upstream.arrived.map(Self.key) == ["KEY9"])
        #expect(upstream.arrived[0].request.headers["X-Amz-Security-Token"] == "session")
    }

    @Test func `only the date of a refusal corrects the clock`()
        async throws
    {
        let upstream = Upstream { _, _ in
            var response = Response(status: 200)
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 15:00:00 GMT")
            return response
        }
        let chain = chain(authorizer(Source()), to: upstream)
        for _ in 0..<2 { _ = try await chain.exchange(.forTests()) }
        let stamps = upstream.arrived.map { $0.request.headers["X-Amz-Date"] }
        #expect(stamps == ["20261127T120000Z", "20261127T120000Z"])
    }
}
