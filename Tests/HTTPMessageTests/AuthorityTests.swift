import NetproxyHTTPMessage
import Testing

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
    func `hosts are converted to one spelling`(_ text: String, _ host: String, _ isLiteral: Bool)
        throws
    {
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
    func `any other text is not an authority`(_ text: String) {
        #expect(Authority(text) == nil)
    }

    @Test func `a name has at most 255 bytes`() {
        #expect(Authority(String(repeating: "a", count: 255)) != nil)
        #expect(Authority(String(repeating: "a", count: 256)) == nil)
    }

    @Test func `the default port equals a missing port`() throws {
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
