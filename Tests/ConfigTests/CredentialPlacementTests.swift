import NetproxyConfig
import NetproxySettings
import Testing

/// Tests of the place of a channel's credential.
@Suite struct CredentialPlacementTests {
    private func placement(_ auth: String) throws -> CredentialPlacement? {
        try channel("auth: { \(auth) }").placement
    }

    @Test func `a credential goes into the field of its kind by default`()
        throws
    {
        #expect(try channel("").placement == nil)
        let usual = CredentialPlacement.header(name: "Authorization", prefix: nil)
        #expect(try placement("bearer: 'literal:x'") == usual)
        let own = CredentialPlacement.header(name: "X-Key", prefix: nil)
        #expect(try placement("header: { name: X-Key, value: 'literal:x' }") == own)
        let prefixed = CredentialPlacement.header(name: "X-Key", prefix: "Token ")
        #expect(try placement("bearer: 'literal:x', name: X-Key, prefix: 'Token '") == prefixed)
        let bare = CredentialPlacement.header(name: "X-Key", prefix: "")
        #expect(try placement("bearer: 'literal:x', name: X-Key, prefix: ''") == bare)
        let query = CredentialPlacement.query(name: "key", prefix: "")
        #expect(try placement("exec: [/bin/token], in: query, name: key") == query)
    }

    @Test func `a credential in the path has a place in every upstream`() throws {
        let text = """
            channels:
              a:
                upstream: ['https://a.example/bot{credential}/', 'https://b.example/x/{credential}/y']
                auth: { bearer: 'literal:x', in: path }
            """
        let channel = try load(text).channels[0]
        #expect(channel.placement == .path(prefix: ""))
        #expect(channel.upstreams.map(\.basePath) == ["/bot{credential}", "/x/{credential}/y"])
        let missing = errors(in: text.replacing("/x/{credential}/y", with: "/x"))
        #expect(missing.count == 1)
        #expect(missing[0].contains("upstream[1]: auth.in: path needs the place of the credential"))
        let idle = errors(in: text.replacing(", in: path", with: ""))
        #expect(idle.count == 2)
        #expect(idle[0].contains("{credential} needs a credential with auth.in: path"))
    }

    @Test(arguments: [
        "https://{credential}.example/", "https://a.example/{credential}/{credential}",
        "https://a.example{credential}",
    ])
    func `the credential has at most one place in the path`(url: String) {
        let lines = errors(
            in: "channels: { a: { upstream: '\(url)', auth: { bearer: 'literal:x', in: path } } }"
        )
        #expect(lines.count == 1 && lines[0].contains("{credential} stands once at most"))
    }

    @Test(arguments: [
        ("in: query", "auth.in: has no effect without a credential"),
        ("bearer: 'literal:x', in: query", "auth.name: required with in: query"),
        ("bearer: 'literal:x', in: body", "auth.in: expected header, query or path"),
        ("bearer: 'literal:x', in: header, name: Host", "auth.name: expected a header name"),
        ("bearer: 'literal:x', prefix: \"a\\nb\"", "auth.prefix: expected a text"),
        ("bearer: 'literal:x', prefix: ' a'", "auth.prefix: expected a text"),
        ("bearer: 'literal:x', name: Cookie", "auth.name: a cookie needs its name in front"),
        (
            "bearer: 'literal:x', name: Cookie, prefix: 'a b='",
            "auth.prefix: a cookie needs its name in front"
        ),
        (
            "header: { name: X-Key, value: 'literal:x' }, name: Y",
            "auth.name: does not go with header"
        ),
        (
            "header: { name: X-Key, value: 'literal:x' }, in: query",
            "auth.in: does not go with header"
        ),
        (
            "basic: { username: u, password: 'literal:x' }, in: query, name: key",
            "auth.in: basic goes into a header field"
        ),
        (
            "oauth: { token_url: 'https://t.example', client_id: c, client_secret: 'literal:x', "
                + "dpop_key: 'file:/k' }, in: query, name: key",
            "auth.in: a token bound to dpop_key goes into Authorization"
        ),
    ])
    func `the error of contradictory keys says what to do`(auth: String, error: String) {
        let lines = errors(inChannel: "auth: { \(auth) }")
        #expect(lines.count == 1)
        #expect(lines.first?.contains(error) == true, "\(lines)")
    }

    @Test func `a place in the path has no name`() {
        let lines = errors(
            in: """
                channels:
                  a:
                    upstream: https://a.example/{credential}
                    auth: { bearer: 'literal:x', in: path, name: key }
                """
        )
        #expect(lines.count == 1 && lines[0].contains("auth.name: a place in the path has no name"))
    }

    @Test(arguments: ["X-Api-Key", "X_API_Key", "x.api.key"])
    func `no rule sets the credential's field in any spelling`(name: String) {
        let lines = errors(
            inChannel: """
                auth: { bearer: 'literal:x', name: X-Api-Key }
                headers: { set: { \(name): a } }
                """
        )
        #expect(lines.count == 1 && lines[0].contains("auth sets X-Api-Key"), "\(lines)")
    }

    @Test(arguments: ["default", "set", "secret"])
    func `no rule sets the proof of a bound token`(rule: String) {
        let lines = errors(
            inChannel: """
                auth: { oauth: { token_url: 'https://t.example', client_id: c, client_auth: none, dpop_key: 'file:/k' } }
                headers: { \(rule): { dpop: 'literal:a' } }
                """
        )
        #expect(lines.count == 1 && lines[0].contains("auth.oauth.dpop_key sets DPoP"), "\(lines)")
    }

    @Test func `a channel's own credential has its own place`() throws {
        let text = """
            defaults: { auth: { bearer: 'literal:x', in: query, name: key } }
            channels:
              a: { upstream: 'https://a.example' }
              b: { upstream: 'https://b.example', auth: { header: { name: X-Key, value: 'literal:y' } } }
              c: { upstream: 'https://c.example', auth: { bearer: 'literal:z' } }
            """
        let query = CredentialPlacement.query(name: "key", prefix: "")
        #expect(
            try load(text).channels.map(\.placement)
                == [query, .header(name: "X-Key", prefix: nil), query]
        )
    }

    @Test(arguments: [
        ("upstream", SentHost.upstream), ("app", .app), ("api.example", .name("api.example")),
        ("api.example:8443", .name("api.example:8443")), ("'[::1]:80'", .name("[::1]:80")),
    ])
    func `host is upstream, app or a host name`(text: String, host: SentHost) throws {
        #expect(try channel("host: \(text)").host == host)
    }

    @Test(arguments: ["https://a.example", "a b", "a/b", "'*.a'"])
    func `host is not a URL`(text: String) {
        let lines = errors(inChannel: "host: \(text)")
        #expect(lines.count == 1 && lines[0].contains("expected upstream, app or a host name"))
    }

    @Test(
        arguments: [
            ("true", [.links, .cookies]), ("false", []), ("off", []),
            ("{ cookies: true }", [.cookies]),
            ("{ links: true }", [.links]), ("{}", []),
        ] as [(String, Set<RewrittenPart>)]
    )
    func `links and cookies are rewritten together or separately`(
        text: String,
        parts: Set<RewrittenPart>
    ) throws {
        #expect(try channel("rewrite: \(text)").rewrite == parts)
    }
}
