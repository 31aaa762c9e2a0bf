import Foundation
import NetworkClient
import Testing

/// An API as an adopter writes it: cases with associated values.
private enum ShopEndpoint: Endpoint {
    case list(page: Int)
    case order(id: String)
    case create(name: String)

    var baseURL: BaseURL { "https://api.example.com/v1/" }

    var path: String {
        switch self {
        case .list, .create: "orders"
        case .order(let id): "/orders/\(segment: id)"
        }
    }

    var method: HTTPMethod {
        if case .create = self { .post } else { .get }
    }

    var task: HTTPTask {
        switch self {
        case .list(let page): .query(["page": "\(page)"])
        case .order: .plain
        case .create(let name): .json(["name": name])
        }
    }
}

/// An endpoint as a struct, with an arbitrary value in a field.
private struct Tagged: Endpoint {
    let tag: String
    var baseURL: BaseURL { "http://localhost:8080" }
    var path: String { "/" }
    var headers: HTTPHeaders {
        get throws { try HTTPHeaders(validating: [.ifMatch: tag]) }
    }
}

@Suite struct EndpointTests {
    @Test func `an enum with associated values is an API`() throws {
        let list = try RequestBuilder(ShopEndpoint.list(page: 2)).build()
        #expect(list.method == .get)
        #expect(list.origin == Origin(scheme: .https, host: "api.example.com"))
        #expect(list.target == "/v1/orders?page=2")
        let create = try RequestBuilder(ShopEndpoint.create(name: "x")).build()
        #expect(create.method == .post)
        #expect(create.text == #"{"name":"x"}"#)
        #expect(create.headers[.contentType] == "application/json")
    }

    @Test func `all members but base URL and path have defaults`() throws {
        struct Least: Endpoint {
            var baseURL: BaseURL { "https://a.example" }
            var path: String { "" }
        }
        let least = Least()
        #expect(least.method == .get)
        #expect(least.headers.isEmpty)
        #expect(least.timeout == nil)
        #expect(least.authorization == .optional)
        #expect(least.validation == nil)
        #expect(least.sampleData.isEmpty)
        #expect(try RequestBuilder(least).build().target == "/")
    }

    @Test func `the description of an endpoint is its method and URL`() {
        #expect("\(ShopEndpoint.list(page: 2))" == "GET https://api.example.com/v1/orders")
        #expect(ShopEndpoint.order(id: "a/b").url == "https://api.example.com/v1/orders/a%2Fb")
    }

    @Test(arguments: ["..", "../admin", "%2e%2e/admin", "a/../../b"])
    func `a path cannot leave the base URL`(path: String) {
        #expect(throws: NetworkError.self) {
            try RequestBuilder("https://api.example.com/v1").path(path).build()
        }
    }

    @Test func `any value in a path is one segment`() throws {
        let request = try RequestBuilder(ShopEndpoint.order(id: "1/2?x=3#é %2F")).build()
        #expect(request.target == "/v1/orders/1%2F2%3Fx%3D3%23%C3%A9%20%252F")
    }

    @Test(arguments: [".", ".."])
    func `a value in a path cannot lead to another path`(id: String) throws {
        for path in ["/orders/\(segment: id)", "/a/\(segment: id)/lines", "/\(segment: id)"] {
            let error = #expect(throws: NetworkError.self) {
                try RequestBuilder("https://api.example.com/v1").path(path).build()
            }
            #expect(error?.kind == .httpRequestError)
        }
        let file = try RequestBuilder("https://a.example").path("/\(segment: id).json").build()
        #expect(file.target.hasSuffix(".json"))
        let dots = try RequestBuilder(ShopEndpoint.order(id: "...")).build()
        #expect(dots.target == "/v1/orders/...")
    }

    @Test(arguments: [
        "", "api.example.com", "ftp://a.example", "https://", "https://a.example/?x",
        "https://a.example/#x", "https://a b.example", "https://a.example:0",
        "https://a.example/%zz", "https://a.example/ä",
    ])
    func `the error of an invalid base URL contains it`(text: String) {
        let error = #expect(throws: NetworkError.self) {
            try RequestBuilder(BaseURL(text)).path("/x").build()
        }
        #expect(error?.kind == .httpRequestError)
        #expect(error?.detail.contains("'\(text)'") == true)
    }

    @Test func `a base URL consists of scheme, host, port and path`() {
        let url: BaseURL = "HTTPS://API.example.com:8443/a/b//"
        #expect(url.origin == Origin(scheme: .https, host: "api.example.com", port: 8443))
        #expect(url.path == "/a/b")
        #expect(URL(string: "http://[::1]:80/x").map(BaseURL.init)?.path == "/x")
        #expect(BaseURL(Origin(scheme: .http, host: "::1")).origin?.host == "::1")
        let origin = Origin(scheme: .https, host: "a.example")
        for path in ["v1", "/v1", "/v1/"] {
            let below = BaseURL(origin, path: path)
            #expect(below.origin == origin)
            #expect(below.path == "/v1")
        }
    }

    @Test(arguments: ["a\r\nX: y", "\0", " a", "a\u{7F}"])
    func `a value that does not fit a field is an error, not a trap`(value: String) {
        let error = #expect(throws: NetworkError.self) {
            try RequestBuilder(Tagged(tag: value)).build()
        }
        #expect(error?.detail.contains("If-Match") == true)
        #expect(throws: NetworkError.self) {
            try RequestBuilder("http://localhost").header("X-Tag", value).build()
        }
    }

    @Test(arguments: [
        "http://bob:hunter2@a.example", "https://hunter2@a.example",
        "https://a.example/v1?api_key=hunter2",
        "https://hunter2@[::1", "//bob:hunter2@a.example", "bob:hunter2@a.example",
        "https:/bob:hunter2@a.example", "https://bob:hunter2#@a.example",
    ])
    func `the error of an invalid base URL contains no secrets`(text: String) throws {
        let error = #expect(throws: NetworkError.self) {
            try RequestBuilder(BaseURL(text)).path("/x").build()
        }
        let detail = try #require(error?.detail)
        #expect(!detail.contains("hunter2"))
        #expect(detail.contains("<redacted>"))
    }

    @Test func `a builder is a value`() throws {
        let base = RequestBuilder("https://a.example").path("/x").header("Accept", "text/plain")
        let one = try base.query(["a": "1"]).build()
        let two = try base.method(.put).json([1, 2]).header("accept", "*/*").build()
        #expect(one.target == "/x?a=1")
        #expect(one.headers[.accept] == "text/plain")
        #expect(two.target == "/x")
        #expect(two.headers.values(of: .accept) == ["*/*"])
    }

    @Test func `scheme, host, base path and path can be set one by one`() throws {
        let request = try RequestBuilder().basePath("v2").origin(.http, host: "::1", port: 81)
            .path("a b").query(["q": nil, "r": "ü"]).build()
        #expect(request.origin.description == "http://[::1]:81")
        #expect(request.target == "/v2/a%20b?q&r=%C3%BC")
    }

    @Test func `an endpoint may be a value without its own type`() throws {
        let endpoint = PathEndpoint(
            "/a",
            of: "https://a.example",
            method: .delete,
            timeout: .seconds(3)
        )
        #expect(endpoint.timeout == .seconds(3))
        #expect(try RequestBuilder(endpoint).build().method == .delete)
    }

    @Test func `fields convert to a dictionary with lower-case names`() throws {
        var headers = try HTTPHeaders(validating: ["X-A": "1", "x-a": "2"])
        headers.append(.bearer(Secret("t")))
        #expect(headers.dictionary == ["x-a": "1, 2", "authorization": "Bearer t"])
        headers.remove("AUTHORIZATION")
        #expect(headers.dictionary["authorization"] == nil)
        headers.set(try #require(HTTPField("X-a", "3")))
        #expect(headers.dictionary == ["x-a": "3"])
    }

    @Test func `invalid names and values are refused by name`() throws {
        var headers: HTTPHeaders = ["X-A": "1", "x-a": "2"]
        try headers.set("X-A", "3")
        try headers.append("x-b", "4")
        try headers.append(.accept, "text/html")
        try headers.set(.accept, "*/*")
        #expect(headers == ["X-A": "3", "x-b": "4", .accept: "*/*"])
        let before = headers
        let value = #expect(throws: NetworkError.self) {
            try headers.set("Authorization", "secret\n")
        }
        #expect(value?.kind == .httpRequestError)
        #expect(value?.detail.contains("Authorization") == true)
        #expect(value?.detail.contains("secret") == false)
        #expect(throws: NetworkError.self) { try headers.append(.cookie, " secret") }
        for name in ["", "X A", "X-A:", "X-A\r\nX-B", "X-Ä"] {
            let error = #expect(throws: NetworkError.self) { try headers.append(name, "secret") }
            #expect(error?.kind == .httpRequestError)
            #expect(error?.detail.contains("secret") == false)
            #expect(error?.detail.contains("\n") == false)
        }
        #expect(headers == before)
    }

    @Test(
        arguments: [
            (.accept("text/html", "*/*"), "Accept: text/html, */*"),
            (.acceptCharset("utf-8", "x-a;q=0.5"), "Accept-Charset: utf-8, x-a;q=0.5"),
            (.acceptEncoding("br", "gzip;q=0.9"), "Accept-Encoding: br, gzip;q=0.9"),
            (.acceptLanguage("de-CH", "de;q=0.7"), "Accept-Language: de-CH, de;q=0.7"),
            (
                .contentDisposition(#"attachment; filename="a.txt""#),
                #"Content-Disposition: attachment; filename="a.txt""#
            ),
            (.contentType("text/plain"), "Content-Type: text/plain"),
            (.userAgent("shop/1"), "User-Agent: shop/1"),
            (.authorization(Secret("Digest a=1")), "Authorization: Digest a=1"),
            (.bearer(Secret("t")), "Authorization: Bearer t"),
            (.basic(username: "a", password: Secret("b")), "Authorization: Basic YTpi"),
        ] as [(HTTPField, String)]
    )
    func `a helper creates the usual field`(_ field: HTTPField, _ line: String) throws {
        #expect("\(field.name): \(field.value)" == line)
    }
}

extension Request {
    /// The body as text, if it is in memory.
    var text: String? {
        if case .bytes(let bytes) = body {
            String(decoding: bytes.array, as: UTF8.self)
        } else {
            nil
        }
    }
}
