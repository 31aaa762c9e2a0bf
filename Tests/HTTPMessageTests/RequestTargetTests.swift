import Bytes
import HTTPMessage
import Testing

@Suite struct RequestTargetTests {
    private func target(_ text: String, _ method: HTTPMethod = .get) -> RequestTarget? {
        let bytes = Array(text.utf8)
        return RequestTarget(bytes.span, for: method)
    }

    @Test func `the four forms are told apart`() throws {
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
    func `path and query of an absolute target come as they are`(_ text: String, _ path: String) {
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
    func `an escape that is none is left alone in the query only`(_ text: String, isOne: Bool) {
        #expect((target(text)?.pathAndQuery?.hasSuffix(text.suffix(2)) == true) == isOne)
    }

    @Test(arguments: ["/x?y", "http://a.example:81/x?y", "https://[::1]/"])
    func `a target is written as it was read`(_ text: String) {
        #expect(target(text)?.description == text)
    }
}

@Suite struct OriginTests {
    @Test(arguments: [
        "localhost", "LocalHost", "a.localhost", "127.0.0.1", "127.255.0.9", "::1",
        "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7f00:1",
    ])
    func `a loopback host is known in every spelling`(host: String) {
        #expect(Origin(scheme: .http, host: host).isLoopback)
    }

    @Test(arguments: [
        "localhost.example", "notlocalhost", "10.0.0.1", "127.0.0.256", "127.0.0.1.example",
        "127.+0.-0.1", "127.0.1", "128.0.0.1", "::",
        "::2", "1::1", "::ffff:128.0.0.1", "::127.0.0.1", "",
    ])
    func `another host is not`(host: String) {
        #expect(!Origin(scheme: .http, host: host).isLoopback)
    }
}

@Suite struct AuthorityTests {
    @Test(arguments: [
        ("a", "a", false), ("A.Example", "a.example", false), ("a.example.", "a.example.", false),
        ("x_y-z~1.example", "x_y-z~1.example", false), ("1password", "1password", false),
        ("127.0.0.1", "127.0.0.1", true), ("[::1]", "::1", true),
        ("[2001:DB8:0:0:1:0:0:1]", "2001:db8::1:0:0:1", true), ("[::]", "::", true),
        ("[1::]", "1::", true), ("[0:0:0:0:0:0:0:1]", "::1", true),
        ("[::ffff:1.2.3.4]", "::ffff:102:304", true),
        ("[1:2:3:4:5:6:7:8]", "1:2:3:4:5:6:7:8", true),
        ("[1:0:3:4:5:6:7:8]", "1:0:3:4:5:6:7:8", true),
        ("[1:2:3:4:5:6:1.2.3.4]", "1:2:3:4:5:6:102:304", true),
    ])
    func `hosts come in one spelling`(_ text: String, _ host: String, _ isLiteral: Bool) throws {
        let authority = try #require(Authority(text))
        #expect(authority.host == host)
        #expect(authority.isIPLiteral == isLiteral)
        #expect(authority.port == nil)
        #expect(Authority("\(text):8080")?.port == 8080)
        #expect(Authority("\(authority)") == authority)
    }

    @Test(arguments: [
        "", ":", ":80", "a:", "a:0", "a:080", "a:65536", "a:99999", "a:+80", "a:8 0", "a:80:80",
        "a b", "a,b", "me@a", "a/b", "a?b", "a#b", "a%41", "a\\b", ".a", "a..b", ".", "é", "a\0",
        "1.2.3", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "1.2.3.256", "1.2.3.4.5",
        "256.1.1.1", "a.0x7f", "[]", "[:]", "[::1", "::1", "[::1]a", "[::1]80", "[:::]",
        "[1::2::3]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8::]", "[12345::]",
        "[fe80::1%25eth0]", "[v1.a]", "[::1.2.3]", "[1.2.3.4]", "[1:]", "[:1]", "[g::]",
        "[1:2:3:4:5:6:7:1.2.3.4]", "[1.2.3.4::]", "[ ::1]",
    ])
    func `anything else is no authority`(_ text: String) {
        #expect(Authority(text) == nil)
    }

    @Test func `a name has at most 255 bytes`() {
        #expect(Authority(String(repeating: "a", count: 255)) != nil)
        #expect(Authority(String(repeating: "a", count: 256)) == nil)
    }

    @Test func `the default port is the same as none`() throws {
        let (bare, http, https) = (
            try #require(Authority("a")), try #require(Authority("a:80")),
            try #require(Authority("a:443"))
        )
        #expect(bare.matches(http, scheme: .http))
        #expect(bare.matches(https, scheme: .https))
        #expect(!bare.matches(http, scheme: .https))
        #expect(!http.matches(https, scheme: .http))
    }
}

@Suite struct TargetPathTests {
    @Test func `path and query part at the first question mark`() {
        #expect(TargetPath("/a?b?c").path == "/a")
        #expect(TargetPath("/a?b?c").query == "b?c")
        #expect(TargetPath("/a?").query?.isEmpty == true)
        #expect(TargetPath("/a").query == nil)
    }

    @Test(arguments: [
        ("/", "/"), ("/a/b", "/"), ("/a/../b", "/"), ("/a/./b/../..", "/"), ("/..a/a../...", "/"),
        ("/a%2fb", "/"), ("/a?/../..", "/"), ("/.well-known/x", "/"), ("/a;b/c", "/"),
        ("/v1", "/v1"), ("/v1/", "/v1"), ("/v1/a", "/v1"), ("/v1/a/..", "/v1"), ("/v1/a", "/v1/"),
        ("/v1/a%2fb/c/..", "/v1"), ("/v1?x", "/v1"), ("/v1/%41/..", "/v1"), ("/v1//", "/v1"),
    ])
    func `a path stays under its base`(_ path: String, _ base: String) {
        #expect(TargetPath(path).staysUnder(base))
    }

    @Test(arguments: [
        ("/..", "/"), ("/../a", "/"), ("/a/../..", "/"), ("/%2e%2e", "/"), ("/.%2E/a", "/"),
        ("/%2e./a", "/"), ("/..%2fa", "/"), ("/..%5Ca", "/"), ("/..\\a", "/"), ("/..;x/a", "/"),
        ("/a/..%2f..", "/"), ("/%2f../a", "/"), ("/%2e%2e%2f", "/"), ("/.//..", "/"),
        ("/a%2f..%2f../b", "/"), ("/;/..", "/"), ("/%2f/..", "/"), ("*", "/"), ("", "/"),
        ("a", "/"), ("/v1/..", "/v1"), ("/v1/a/../../v1/b", "/v1"), ("/v10", "/v1"),
        ("/V1/a", "/v1"), ("/v1%2fa", "/v1"), ("/", "/v1"), ("/v1/a%2fb/../..", "/v1"),
        ("/v1//..", "/v1"), ("/a/v1", "/v1"),
    ])
    func `a path that might leave its base is found out`(_ path: String, _ base: String) {
        #expect(!TargetPath(path).staysUnder(base))
    }
}
