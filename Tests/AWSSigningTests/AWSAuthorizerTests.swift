import AWSSigning
import NetworkCore
import OAuth
import Synchronization
import TestSupport
import Testing

/// Credentials that expire, are refused, or sign with the wrong time.
@Suite struct AWSAuthorizerTests {
    /// Issues keys that are numbered, each for an hour.
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
        stack.signing?.refusals = RefusalRule(
            statuses: AWSRefusal.statuses,
            phrases: AWSRefusal.phrases
        )
        return stack.chain(to: upstream)
    }

    /// The key that a request is signed with.
    private static func key(of arrived: Upstream.Arrived) -> String {
        let value = arrived.token ?? ""
        return String(value.drop { $0 != "=" }.dropFirst().prefix { $0 != "/" })
    }

    private static func refusal(_ words: String, _ status: HTTPStatus = 400) -> Response {
        Response(status: status, body: .bytes(ByteSlice(words)))
    }

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
        (401, ""),
    ])
    func `credentials that were refused are renewed, and the request is sent again`(
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
        let upstream = Upstream { _, _ in Self.refusal("InvalidClientTokenId", 403) }
        let chain = chain(authorizer(source), to: upstream)
        let (response, context) = try await chain.exchange(.forTests())
        #expect(response.status == 403)
        #expect(context.authorization?.notReplayed == .staticCredential)
        #expect(source.issued == 2)
        #expect(upstream.arrived.count == 1)
    }

    @Test(arguments: ["AccessDenied", "ValidationException"])
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
        "RequestTimeTooSkewed", "RequestExpired",
        "Signature expired: 20261127T120000Z is now earlier than 20261127T144500Z",
        "Signature not yet current: 20261127T120000Z is still later than",
    ])
    func `a signature that was refused for its time is made again by the server's clock`(
        words: String
    ) async throws {
        let source = Source()
        let upstream = Upstream { arrived, _ in
            let stamp = arrived.request.headers["X-Amz-Date"]
            guard stamp != "20261127T150000Z" else { return Response(status: 200) }
            var response = Self.refusal(words, 403)
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 15:00:00 GMT")
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
            var response = Self.refusal("RequestExpired", 403)
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
    ])
    func `a presigned URL is a signature of the app's`(target: String, isSigned: Bool) {
        var request = Request.forTests()
        request.target = target
        #expect(authorizer(Source()).isSigned(request) == isSigned)
    }

    @Test func `an answer with another date corrects nothing unless it is a refusal`()
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
