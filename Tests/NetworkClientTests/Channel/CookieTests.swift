import Foundation
import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

@Suite struct CookieTests {
    private func request(_ url: String) throws -> Request { try Request(url: url) }

    /// Returns the cookies that a jar sends to a URL after another URL has set them.
    private func sent(
        _ fields: [String],
        from source: String = "https://www.a.test/dir/page",
        to target: String,
        jar: CookieJar = CookieJar()
    ) throws -> String? {
        var headers = HTTPHeaders()
        for field in fields { headers.append(try #require(HTTPField(.setCookie, field))) }
        jar.store(headers, from: try request(source))
        return jar.field(for: try request(target))
    }

    @Test(
        arguments: [
            ("a=1", "https://www.a.test/dir/x", "a=1"), ("a=1", "https://www.a.test/dir", "a=1"),
            ("a=1", "https://www.a.test/directory", nil), ("a=1", "https://www.a.test/", nil),
            ("a=1; Path=/", "https://www.a.test/", "a=1"), ("a=1; Path=/", "https://a.test/", nil),
            ("a=1; Path=/", "https://x.www.a.test/", nil),
            ("a=1; Path=/; Domain=a.test", "https://b.a.test/", "a=1"),
            ("a=1; Path=/; Domain=.a.test", "https://a.test/", "a=1"),
            ("a=1; Path=/; Domain=a.test", "https://ba.test/", nil),
            ("a=1; Path=/; Domain=test", "https://www.a.test/", nil),
            ("a=1; Path=/; Domain=b.test", "https://b.test/", nil),
            ("a=1; Path=/; Secure", "http://www.a.test/", nil),
            ("a=1; Path=/; HttpOnly; SameSite=Strict; X", "https://www.a.test/", "a=1"),
            ("a = 1=2 ; path = /;", "https://www.a.test/", "a=1=2"),
            ("a=\"q\"; Path=/", "https://www.a.test/", "a=\"q\""),
            ("a=; Path=/", "https://www.a.test/", "a="), ("=1; Path=/", "https://www.a.test/", nil),
            ("a; Path=/", "https://www.a.test/", nil),
            ("__Host-a=1; Path=/; Secure", "https://www.a.test/", "__Host-a=1"),
            ("__Host-a=1; Path=/; Secure; Domain=a.test", "https://www.a.test/", nil),
            ("__Secure-a=1; Path=/", "https://www.a.test/", nil),
            ("a=1; Path=/; Max-Age=0", "https://www.a.test/", nil),
            ("a=1; Path=/; Max-Age=-5", "https://www.a.test/", nil),
            (
                "a=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "https://www.a.test/", "a=1"
            ),
            ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "https://www.a.test/", nil),
            ("a=1; Path=/; Expires=Fri, 31-Dec-2099 23:59:59 GMT", "https://www.a.test/", "a=1"),
            ("a=1; Path=/; Expires=Dec 31 23:59:59 99", "https://www.a.test/", nil),
            ("a=1; Path=/; Expires=never", "https://www.a.test/", "a=1"),
        ] as [(String, String, String?)]
    )
    func `a cookie is sent only to its host and path`(field: String, url: String, value: String?)
        throws
    {
        #expect(try sent([field], to: url) == value)
    }

    @Test(arguments: [
        ("http://10.0.0.1/", "0.0.1", "http://11.0.0.1/"),
        ("http://10.0.0.1/", ".0.0.1", "http://10.0.0.1/"),
        ("http://[::ffff:10.0.0.1]/", "0.0.1", "http://[::ffff:11.0.0.1]/"),
    ])
    func `the end of an address is no domain`(source: String, domain: String, target: String)
        throws
    {
        let jar = CookieJar()
        let field = "a=1; Path=/; Domain=\(domain)"
        #expect(try sent([field], from: source, to: target, jar: jar) == nil)
        #expect(jar.count == 0)
        // An address may name itself.
        let own = "a=1; Path=/; Domain=10.0.0.1"
        #expect(try sent([own], from: "http://10.0.0.1/", to: "http://10.0.0.1/") == "a=1")
    }

    @Test func `cookies are sorted like in RFC 6265, and replace earlier ones`() throws {
        let jar = CookieJar()
        let fields = ["a=1; Path=/", "b=2; Path=/dir", "c=3; Path=/", "a=4; Path=/"]
        #expect(try sent(fields, to: "https://www.a.test/dir/x", jar: jar) == "b=2; a=4; c=3")
        #expect(try sent(["a=; Path=/; Max-Age=0"], to: "https://www.a.test/", jar: jar) == "c=3")
        #expect(jar.count == 2)
        jar.removeAll()
        #expect(jar.count == 0)
    }

    @Test func `a cookie expires by the jar's clock`() throws {
        let clock = ManualClock()
        let jar = CookieJar(clock: clock)
        #expect(try sent(["a=1; Max-Age=60; Path=/"], to: "https://www.a.test/", jar: jar) == "a=1")
        clock.advance(by: .seconds(61))
        #expect(jar.field(for: try request("https://www.a.test/")) == nil)
    }

    @Test func `a saved jar has the same cookies, except those that have expired`() throws {
        let clock = ManualClock()
        let jar = CookieJar(clock: clock)
        let fields = [
            "session=1; Path=/", "short=2; Max-Age=60; Path=/",
            "long=3; Max-Age=600; Path=/; Domain=a.test; Secure", "deep=4; Path=/dir/",
        ]
        let url = "https://www.a.test/dir/page"
        #expect(
            try sent(fields, to: url, jar: jar) == "deep=4; session=1; short=2; long=3"
        )
        let data = try jar.encoded()
        clock.advance(by: .seconds(61))
        let restored = try CookieJar(decoding: data, clock: clock)
        #expect(restored.field(for: try request(url)) == "deep=4; session=1; long=3")
        #expect(restored.field(for: try request("https://b.a.test/")) == "long=3")
        #expect(restored.field(for: try request("http://b.a.test/")) == nil)
        #expect(throws: DecodingError.self) { try CookieJar(decoding: Data("{}".utf8)) }
    }

    @Test func `the size of a jar is limited`() throws {
        let jar = CookieJar()
        let many = (0..<60).map { "n\($0)=1; Path=/" }
        let field = try sent(many, to: "https://www.a.test/", jar: jar)
        #expect(jar.count == CookieJar.limitOfDomain)
        #expect(field?.hasPrefix("n10=1; ") == true)
        let long = "a=" + String(repeating: "x", count: CookieJar.longest)
        #expect(try sent([long], to: "https://www.a.test/dir/", jar: CookieJar()) == nil)
    }

    @Test func `a redirect sets a cookie for the next request`() async throws {
        let origin = try await OriginServer.start { request in
            request.startLine.contains("/in")
                ? "HTTP/1.1 302 Found\r\nLocation: /home\r\nSet-Cookie: s=1; Path=/\r\nContent-Length: 0\r\n\r\n"
                : Raw.ok(request["Cookie"] ?? "none")
        }
        var channel = NetworkChannel(transport: try PooledTransport())
        let base = "http://127.0.0.1:\(origin.port)"
        let without = NetworkManager<PathEndpoint>(channel)
        #expect(try await without.perform(request("\(base)/in")).text == "none")
        channel.cookies = CookieJar()
        let manager = NetworkManager<PathEndpoint>(channel)
        #expect(try await manager.perform(request("\(base)/in")).text == "s=1")
        let own = try Request(url: "\(base)/x", headers: ["Cookie": "mine=2"])
        #expect(try await manager.perform(own).text == "mine=2; s=1")
    }

    @Test func `a User-Agent is sent unless another one is set`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0["User-Agent"] ?? "none") }
        let url = "http://127.0.0.1:\(origin.port)/"
        var channel = NetworkChannel(transport: try PooledTransport())
        func agent(_ headers: HTTPHeaders = [:]) async throws -> String {
            try await NetworkManager<PathEndpoint>(channel)
                .perform(Request(url: url, headers: headers)).text
        }
        #expect(try await agent() == "netproxy-swift")
        #expect(try await agent(["User-Agent": "own"]) == "own")
        channel.interceptors = [DefaultHeadersInterceptor(defaults: [.userAgent: "shop/1"])]
        #expect(try await agent() == "shop/1")
        channel.interceptors = []
        channel.userAgent = nil
        #expect(try await agent() == "none")
        channel.userAgent = "a\r\nb"
        await #expect(throws: NetworkError.self) { try await agent() }
    }
}
