import FoundationEssentials
import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Tests of calls with a complete URL from a server.
@Suite struct URLCallTests {
    private struct Page: Decodable, Equatable { var next: String }

    /// A target with a signature over its bytes, so that nothing may change.
    private static let target =
        "/a%2fb/~x;v=1?X-Amz-Signature=%2F%2b+==&q=a%20b&empty&=&next=http://c/?d"

    private func origin(_ body: String = #"{"next":"n"}"#, _ type: String = "application/json")
        async throws -> OriginServer
    {
        try await OriginServer.start { _ in Raw.ok(body, "Content-Type: \(type)") }
    }

    private func url(_ origin: OriginServer) -> String {
        "http://127.0.0.1:\(origin.port)\(Self.target)#fragment"
    }

    private func manager(
        host: String? = nil,
        authorizer: (any Authorizing)? = nil
    ) throws -> NetworkManager<PathEndpoint> {
        NetworkManager(
            NetworkChannel(
                transport: try PooledTransport(),
                host: host,
                authorizer: authorizer
            )
        )
    }

    @Test func `each kind of call sends a complete URL byte for byte`() async throws {
        let origin = try await origin()
        let url = url(origin)
        let manager = try manager()
        let page = try await manager.request(Request(url: url), as: Page.self)
        #expect(page == Page(next: "n"))
        #expect(try await manager.data(for: Request(url: url)).count == 12)
        let put = try await manager.upload(
            Request(.put, url: url, headers: ["X-Own": "1"]),
            .data(Data("abc".utf8), contentType: "text/plain")
        )
        #expect(put.status == 200)
        var length = 0
        for try await piece in try await manager.stream(Request(url: url)).bytes {
            length += piece.count
        }
        #expect(length == 12)
        let path = FileManager.default.temporaryDirectory
            .appending(path: "url-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try await manager.download(Request(url: url), to: path).length == 12)
        let lines = origin.requests.map(\.startLine)
        #expect(
            lines.map { $0.split(separator: " ")[1] }
                == Array(repeating: Self.target[...], count: 5)
        )
        #expect(lines.filter { $0.hasPrefix("PUT ") }.count == 1)
        let upload = try #require(origin.requests.first { $0.startLine.hasPrefix("PUT ") })
        #expect(
            (upload["Content-Type"], upload["X-Own"], upload.body) == ("text/plain", "1", "abc")
        )
    }

    @Test func `events may come from a complete URL`() async throws {
        let origin = try await origin("data: one\n\n", "text/event-stream")
        let manager = try manager()
        for try await event in manager.events(try Request(url: url(origin))) {
            #expect(event.data == "one")
            break
        }
        #expect(origin.requests.first?.startLine == "GET \(Self.target) HTTP/1.1")
    }

    @Test func `a credential is sent only to the channel's host, or if required`()
        async throws
    {
        let (own, foreign) = (try await origin(), try await origin())
        let token = try StaticAuthorizer.bearer(Secret("t"))
        let open = try manager(authorizer: token)
        _ = try await open.data(for: Request(url: url(foreign)))
        #expect(foreign.requests.last?["Authorization"] == nil)
        var options = CallOptions()
        options.authorization = .required
        _ = try await open.data(for: Request(url: url(foreign)), options: options)
        #expect(foreign.requests.last?["Authorization"] == "Bearer t")
        let bound = try manager(host: "127.0.0.1:\(own.port)", authorizer: token)
        _ = try await bound.data(for: Request(url: url(own)))
        #expect(own.requests.last?["Authorization"] == "Bearer t")
        let error = await #expect(throws: NetworkError.self) {
            try await bound.data(for: Request(url: url(foreign)))
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(foreign.requests.count == 2)
    }

    @Test(arguments: [
        "", "/a", "ftp://a.test/", "http://", "http://a b/", "http://a.test/é",
        "http://u:p@a.test/",
        "http://a.test/ x", "http://a.test:99999/", "https://[::1/",
    ])
    func `an invalid URL is refused`(text: String) {
        #expect(throws: NetworkError.self) { try Request(url: text) }
    }

    @Test(
        arguments: [
            (#"<https://a.test/?page=2>; rel="next""#, "next", "https://a.test/?page=2"),
            (
                #"<https://a.test/1>;rel=prev, <https://a.test/3>; rel="last NEXT""#, "next",
                "https://a.test/3"
            ),
            (#"</b?c=d,e>; title="a, <b>; rel=\"x\""; rel=next"#, "next", "/b?c=d,e"),
            ("<a>; rel=next; rel=prev", "prev", nil), ("<a>; rel=next", "Next", "a"),
            ("<a; rel=next", "next", nil), ("a; rel=next", "next", nil), ("<a>", "next", nil),
            (#"<a>; rel="next"#, "next", nil), (", ,<a> ; rel = next ,", "next", "a"),
            ("", "next", nil),
        ] as [(String, String, String?)]
    )
    func `a link is found by its relation`(field: String, relation: String, target: String?) throws
    {
        let headers = try HTTPHeaders(validating: ["Link": field.trimmingPrefix(" ").description])
        #expect(headers.link(relation) == target)
    }

    @Test(arguments: [
        ("?page=2", "/v1/list?page=2"), ("/x", "/x"), ("../y", "/y"),
        ("https://b.test/z?q#f", "/z?q"),
    ])
    func `a link is resolved against its source`(reference: String, target: String) throws {
        let first = try Request(url: "https://a.test/v1/list?page=1", headers: ["X-A": "1"])
        let next = try first.following(reference)
        #expect(next.target == target)
        #expect(next.origin.host == (reference.hasPrefix("http") ? "b.test" : "a.test"))
        #expect(next.headers == ["X-A": "1"])
    }

    @Test func `parameters may be of mixed types`() throws {
        let (page, word): (Int, String?) = (2, nil)
        let items: QueryItems = ["page": page, "all": true, "rate": 0.5, "word": word, "q": "a b"]
        let own = try RequestBuilder("https://a.test").query(items).build()
        #expect(own.target == "/?page=2&all=true&rate=0.5&word&q=a%20b")
        let foundation = QueryItems([
            URLQueryItem(name: "a", value: "1"), URLQueryItem(name: "b", value: nil),
        ])
        #expect(try RequestBuilder("https://a.test").query(foundation).build().target == "/?a=1&b")
    }

    @Test func `parameters with dynamic types keep their types`() throws {
        let missing: String? = nil
        let values: [String: Any] = [
            "text": "a b", "count": 2, "large": UInt64.max, "rate": 0.5, "all": true,
            "none": missing as Any,
            "ids": [1, 2], "filter": ["by": "name", "deep": [Int8(3)]] as [String: Any],
            "some": Optional("x") as Any, "link": try #require(URL(string: "https://a.test/?b")),
        ]
        let parameters = try Parameters(values)
        let body = try RequestBuilder("https://a.test").json(parameters).build().text
        let json = try #require(body)
        let read = try JSONDecoder().decode(Shape.self, from: Data(json.utf8))
        #expect((read.text, read.count, read.large, read.rate) == ("a b", 2, .max, 0.5))
        #expect((read.all, read.none, read.ids, read.some) == (true, nil, [1, 2], "x"))
        #expect((read.filter.by, read.filter.deep, read.link) == ("name", [3], "https://a.test/?b"))
        let query = try RequestBuilder("https://a.test")
            .query(encoding: try Parameters(["b": true, "a": 1, "c": "x y"])).build().target
        #expect(query == "/?a=1&b=true&c=x%20y")
    }

    private struct Shape: Decodable {
        struct Filter: Decodable { var by: String, deep: [Int] }

        var text: String, count: Int, large: UInt64, rate: Double, all: Bool
        var none: String?, ids: [Int], filter: Filter, some: String, link: String
    }

    @Test func `the error of a value that cannot be encoded names it`() {
        struct Odd {}
        let error = #expect(throws: NetworkError.self) {
            try Parameters(["a": ["b": [1, Odd()] as [Any]] as [String: Any]])
        }
        #expect(error?.detail.contains("the parameter a.b[1] is a value of type Odd") == true)
    }

    @Test(arguments: [
        ("/list?page=2", "/v1/list?page=2&own=1"), ("/list?", "/v1/list?own=1"),
        ("/a b?q=c d&e=é#f", "/v1/a%20b?q=c%20d&e=%C3%A9%23f&own=1"),
        ("/x%3Fy", "/v1/x%3Fy?own=1"), ("?a", "/v1?a&own=1"),
        ("/\(segment: "a?b")", "/v1/a%3Fb?own=1"),
    ])
    func `a query in a path is joined with the endpoint's query`(path: String, target: String)
        throws
    {
        let endpoint = PathEndpoint(
            path,
            of: "https://a.test/v1",
            task: .query(["own": 1] as QueryItems)
        )
        #expect(try RequestBuilder(endpoint).build().target == target)
        #expect(!endpoint.url.contains("page"))
    }

}
