import NetworkCore
import TestSupport
import Testing

/// Tests of the place of a credential in a request.
@Suite struct CredentialPlaceTests {
    private static let secret = "s3cr/et+k&y"

    private func credential() throws -> Credential {
        try #require(try StaticAuthorizer.bearer(Secret(Self.secret)).currentCredential())
    }

    private func placed(
        _ place: CredentialPlace,
        _ target: String = "/v1/a",
        _ headers: HTTPHeaders = [:]
    ) throws -> Request {
        var request = Request(
            origin: Origin(scheme: .https, host: "api.example"),
            target: target,
            headers: headers
        )
        try place.put(try credential(), in: &request)
        return request
    }

    @Test(arguments: [
        ("/v1/a", "/v1/a?key=s3cr%2Fet%2Bk%26y"),
        ("/v1/a?", "/v1/a?key=s3cr%2Fet%2Bk%26y"),
        ("/v1/a?x=1&", "/v1/a?x=1&key=s3cr%2Fet%2Bk%26y"),
        ("/v1/a?b=%2f&key=mine&&c", "/v1/a?b=%2f&&c&key=s3cr%2Fet%2Bk%26y"),
        ("/v1/a?k%65y=1&KEY=2&key[]=3&+key=4;x=5", "/v1/a?x=5&key=s3cr%2Fet%2Bk%26y"),
        ("/v1/a?monkey=1&keys=2&x=key", "/v1/a?monkey=1&keys=2&x=key&key=s3cr%2Fet%2Bk%26y"),
    ])
    func `the credential replaces every equal parameter in the query`(target: String, sent: String)
        throws
    {
        #expect(try placed(.query("key"), target).target == sent)
    }

    @Test(arguments: ["api_key", "API%5Fkey", "api-key", "Api.Key", "api%20key"])
    func `a parameter is replaced in every spelling that servers fold`(name: String) throws {
        #expect(CredentialPlace.query("api_key").isOccupied(in: try request("/?\(name)=mine")))
        let target = try placed(.query("api_key"), "/?\(name)=mine").target
        #expect(target == "/?api_key=s3cr%2Fet%2Bk%26y")
    }

    private func request(_ target: String) throws -> Request {
        Request(origin: Origin(scheme: .https, host: "api.example"), target: target)
    }

    @Test(arguments: [
        ("/bot{credential}", "/bot{credential}/getMe?x={credential}", "/botS/getMe?x={credential}"),
        ("/bot{credential}", "/botmine/getMe", "/botS/getMe"),
        ("/bot{credential}", "/bot{credential}", "/botS"),
        ("/bot{credential}", "/bot{credential}?x", "/botS?x"),
        ("/a/{credential}/v1", "/a/mine/v1/x", "/a/S/v1/x"),
        ("/a/{credential}.json", "/a/mine.json/x", "/a/S.json/x"),
    ])
    func `a credential in the path replaces only its own placeholder`(
        base: String,
        target: String,
        sent: String
    ) throws {
        let template = try #require(PathTemplate(base))
        let encoded = "s3cr%2Fet+k&y"
        let found = try placed(.path(in: template, prefix: ""), target).target
        #expect(found == sent.replacing("S", with: encoded))
    }

    @Test(arguments: ["/bot/getMe", "/other/getMe", "/bot", "/a/b/v1"])
    func `a path that does not match the template is an error`(target: String) throws {
        let template = try #require(PathTemplate("/bot{credential}"))
        #expect(throws: NetworkError.self) {
            try placed(.path(in: template, prefix: ""), target)
        }
        #expect(throws: NetworkError.self) { try placed(.path(), target) }
    }

    @Test func `a marker in the query is not a place for the credential`() throws {
        #expect(throws: NetworkError.self) { try placed(.path(), "/a?x={credential}") }
    }

    @Test func `a prefix replaces the authentication scheme`() throws {
        let placed = { place in try self.placed(place, "/", ["Authorization": "Bearer mine"]) }
        let token = try placed(.header(.authorization, prefix: "Token "))
        #expect(token.headers.values(of: .authorization) == ["Token \(Self.secret)"])
        let bare = try placed(.header("X-Key", prefix: ""))
        #expect(bare.headers["X-Key"] == Self.secret)
        #expect(bare.headers[.authorization] == "Bearer mine")
        let other = try placed(.header("X-Key"))
        #expect(other.headers["X-Key"] == "Bearer \(Self.secret)")
    }

    @Test func `a cookie credential leaves the other cookies in place`() throws {
        let place = CredentialPlace.header(.cookie, prefix: "sid=")
        let cookies = ["theme=dark; sid=mine; side=1", "sid =2"]
        var headers: HTTPHeaders = [:]
        for cookie in cookies { try headers.append(.cookie, cookie) }
        let sent = try placed(place, "/", headers).headers.values(of: .cookie)
        #expect(sent == ["theme=dark; side=1; sid=\(Self.secret)"])
        #expect(try placed(place).headers[.cookie] == "sid=\(Self.secret)")
        let others = Request(
            origin: Origin(scheme: .https, host: "api.example"),
            target: "/",
            headers: [.cookie: "theme=dark; side=1"]
        )
        #expect(!place.isOccupied(in: others))
    }

    @Test(arguments: [
        (CredentialPlace.query("key"), "/a?key=mine", "/a?key=ours"),
        (CredentialPlace.query("key"), "/a", "/a?key=ours"),
        (CredentialPlace.path(), "/{credential}/a", "/ours/a"),
    ])
    func `a repeated attempt carries the credential once`(
        place: CredentialPlace,
        target: String,
        sent: String
    ) async throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("ours"))
        let upstream = Upstream { _, count in Response(status: count == 0 ? 503 : 200) }
        var policy = RetryPolicy()
        policy.retries = 1
        var stack = InterceptorStack()
        stack.retry = RetryInterceptor(
            policy: policy,
            budget: RetryBudget(),
            clock: ManualClock(sleeping: .skipped)
        )
        stack.signing = .init(by: authorizer, for: OAuthHarness.apiOrigin, replayLimit: 1024)
        stack.signing?.place = place
        var context = RequestContext()
        let request = Request(origin: OAuthHarness.apiOrigin, target: target)
        _ = try await stack.chain(to: upstream).send(request, context: &context)
        #expect(upstream.arrived.map(\.request.target) == [sent, sent])
        #expect(context.authorization?.overrodeClient == target.contains("mine"))
    }
}
