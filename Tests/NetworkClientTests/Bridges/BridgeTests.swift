import Foundation
import HTTPTypes
import NetworkClient
import Testing

@Suite struct BridgeTests {
    @Test func `a request converts to swift-http-types and back`() throws {
        var head = HTTPRequest(
            method: .put,
            scheme: "https",
            authority: "API.example.com:8443",
            path: "/a?b=c"
        )
        head.headerFields[.accept] = "text/plain"
        head.headerFields.append(HTTPTypes.HTTPField(name: .accept, value: "*/*"))
        let request = try Request(head, body: .bytes(ByteSlice("x")))
        #expect(request.origin.authority == "api.example.com:8443")
        #expect(request.target == "/a?b=c")
        #expect(request.headers.values(of: .accept) == ["text/plain", "*/*"])
        let back = request.httpRequest
        #expect(back.method == .put)
        #expect(back.authority == "api.example.com:8443")
        #expect(back.headerFields[values: .accept] == ["text/plain", "*/*"])
    }

    @Test(arguments: [
        ("ftp", "a.example", "/"), ("https", "a.example/x", "/"), ("https", "", "/"),
        ("https", "a.example", "x"), ("https", "a.example", "/a b"),
    ])
    func `a request without a valid origin is refused`(
        _ scheme: String,
        _ authority: String,
        _ path: String
    ) {
        let head = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        #expect(throws: NetworkError.self) { try Request(head) }
    }

    @Test func `a response converts to swift-http-types and back`() throws {
        let head = HTTPResponse(status: .notFound, headerFields: [.server: "s"])
        let response = try Response(head)
        #expect(response.status == 404)
        #expect(response.headers[.server] == "s")
        #expect(response.httpResponse.status == .notFound)
        #expect(response.httpResponse.headerFields[.server] == "s")
    }

    @Test func `a URL converts to a request and back`() throws {
        let url = try #require(URL(string: "https://a.example:8443/p%20q?x=1#part"))
        let request = try Request(.post, url: url, content: Data([1]))
        #expect(request.origin.authority == "a.example:8443")
        #expect(request.target == "/p%20q?x=1")
        #expect(request.url?.absoluteString == "https://a.example:8443/p%20q?x=1")
        #expect(try Request(url: #require(URL(string: "http://a.example?x"))).target == "/?x")
        #expect(try Request(url: #require(URL(string: "http://a.example"))).target == "/")
    }

    @Test(arguments: [
        "file:///etc/passwd", "/relative", "https://u:p@a.example/", "mailto:a@b",
        "relative?next=https://a.example/", "?://", "//a.example/?u=http://b.example",
    ])
    func `a URL of another kind is refused`(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: NetworkError.self) { try Request(url: url) }
    }
}
