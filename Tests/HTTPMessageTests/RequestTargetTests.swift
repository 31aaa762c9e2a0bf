import NetproxyBytes
import NetproxyHTTPMessage
import Testing

@Suite struct RequestTargetTests {
    private func target(_ text: String, _ method: HTTPMethod = .get) -> RequestTarget? {
        let bytes = Array(text.utf8)
        return RequestTarget(bytes.span, for: method)
    }

    @Test func `the four forms are distinguished`() throws {
        let host = try #require(Authority("a.example:81"))
        #expect(target("/x?y=/z") == .origin("/x?y=/z"))
        #expect(target("http://A.example:81/x") == .absolute(.http, host, "/x"))
        #expect(target("a.example:81", .connect) == .authority(host))
        #expect(target("*", .options) == .asterisk)
    }

    @Test(arguments: [
        ("http://a", "/"), ("HTTPS://a", "/"), ("http://a?x", "/?x"), ("http://a?x/y", "/?x/y"),
        ("http://a//b", "//b"), ("http://a/%C3%A9?%25", "/%C3%A9?%25"),
    ])
    func `path and query of an absolute target stay unchanged`(_ text: String, _ path: String) {
        #expect(target(text)?.pathAndQuery == path)
    }

    @Test func `OPTIONS of a whole origin becomes a star`() {
        #expect(target("http://a", .options)?.pathAndQuery == "*")
        #expect(target("http://a/", .options)?.pathAndQuery == "/")
    }

    @Test(arguments: [
        ("/a?%", true), ("/a?%z", true), ("/a?b%2", true), ("/a?%%41", true), ("/a?%0", true),
        ("/a?%00", false), ("/a?%%00", false), ("/%?a", false), ("/%4?a", false), ("/%zz", false),
        ("http://a?%", true), ("http://a/%?", false),
    ])
    func `an invalid escape is accepted in the query only`(_ text: String, isOne: Bool) {
        #expect((target(text)?.pathAndQuery?.hasSuffix(text.suffix(2)) == true) == isOne)
    }

    @Test(arguments: ["/x?y", "http://a.example:81/x?y", "https://[::1]/"])
    func `a target is written as it was parsed`(_ text: String) {
        #expect(target(text)?.description == text)
    }
}
