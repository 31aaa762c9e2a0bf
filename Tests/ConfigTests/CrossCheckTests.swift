import NetproxyConfig
import Testing

@Suite struct CrossCheckTests {
    @Test func `two channels cannot have the same path or host`() {
        let text = """
            channels:
              a: { upstream: https://a.example, match: { path: /api/, hosts: [x.localhost] } }
              b: { upstream: https://b.example, match: { path: /api, hosts: [X.localhost] } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:3:52: channels.b.match.path: '/api' is already used by channel 'a'",
                "netproxy.yaml:3:66: channels.b.match.hosts[0]: "
                    + "'x.localhost' is already used by channel 'a'",
            ]
        )
    }

    @Test func `a dedicated listener cannot be the common one`() {
        let text = """
            listen: 127.0.0.1:8080
            channels:
              a: { upstream: https://a.example, match: { listen: "127.0.0.1:8080" } }
            """
        #expect(errors(in: text).count == 1)
    }

    @Test func `a channel's own listener must be local, too`() {
        let text = """
            channels:
              a: { upstream: https://a.example, match: { listen: "0.0.0.0:8081" } }
            """
        let place = "netproxy.yaml:2:54: channels.a.match.listen: '0.0.0.0:8081'"
        #expect(errors(in: text) == ["\(place) is not a loopback address, set allow_remote: true"])
        #expect(errors(in: "allow_remote: true\n\(text)").isEmpty)
    }

    @Test func `a remote listener is accepted if allowed`() throws {
        let text = """
            listen: ["[::]:8080"]
            allow_remote: true
            channels: { a: { upstream: https://a.example } }
            """
        #expect(try load(text).listen == [.tcp(HostPort(host: "::", port: 8080))])
    }

    @Test(arguments: [
        ("listen: [proxy.example:80]", "listen[0]: 'proxy.example:80' has a name"),
        ("listen: app.localhost:80", "listen: 'app.localhost:80' has a name"),
        ("listen: 127.1:80", "listen: expected host:port"),
        ("listen: 127.0.0.010:80", "listen: expected host:port"),
        ("admin: app.localhost:80", "admin: expected unix:/path, a loopback host:port or off"),
    ])
    func `an address that cannot be bound is refused`(line: String, expected: String) {
        let rest = "allow_remote: true\nchannels: { a: { upstream: https://a.example } }\n"
        let lines = errors(in: "\(line)\n\(rest)")
        #expect(lines.count == 1 && lines[0].contains(" \(expected)"))
    }

    @Test(arguments: [
        ("http://api.example.com", "false", 1),
        ("http://api.example.com", "true", 0),
        ("http://127.0.0.1:9000", "false", 0),
        ("http://[::1]:9000", "false", 0),
        ("http://127.0.0.1.example.com", "false", 1),
        ("http://notlocalhost:9000", "false", 1),
        ("http://api.localhost:9000", "false", 0),
        ("http://[::ffff:127.0.0.1]:9000", "false", 0),
        ("http://[::ffff:10.0.0.1]:9000", "false", 1),
    ])
    func `credentials are not sent in the clear`(upstream: String, allowed: String, count: Int) {
        let text = """
            channels:
              a:
                upstream: "\(upstream)"
                auth: { bearer: "env:TOKEN", allow_insecure: \(allowed) }
            """
        #expect(errors(in: text).count == count)
    }

    @Test(arguments: [
        ("http://127.0.0.1:9000", "http://proxy.example:3128", 1),
        ("http://127.0.0.1:9000", "http://127.0.0.1:3128", 0),
        ("https://api.example", "http://proxy.example:3128", 0),
    ])
    func `a loopback upstream behind a remote proxy counts as remote`(
        url: String,
        proxy: String,
        count: Int
    ) {
        let bearer = "upstream: '\(url)', proxy: '\(proxy)', auth: { bearer: env:T }"
        let lines = errors(in: "channels: { a: { \(bearer) } }")
        #expect(lines.count == count)
        #expect(lines.allSatisfy { $0.contains("to the proxy proxy.example:3128, set proxy: off") })
        let oauth = "token_url: '\(url)', proxy: '\(proxy)', client_id: a, client_auth: none"
        let channel = "upstream: https://a.example, auth: { oauth: { \(oauth) } }"
        #expect(errors(in: "channels: { a: { \(channel) } }").count == count)
    }

    @Test(arguments: [
        ("bearer: env:A", "default", "authorization", 1),
        ("bearer: env:A", "set", "Authorization", 1),
        ("bearer: env:A", "set", "X-Key", 0), ("bearer: env:A", "set", "Via", 1),
        ("header: { name: X-Key, value: env:A }", "set", "x-key", 1),
        ("header: { name: X-Key, value: env:A }", "set", "Authorization", 0),
        ("off", "set", "Authorization", 0),
    ])
    func `no rule may set the credential's field`(
        auth: String,
        rule: String,
        field: String,
        count: Int
    ) {
        let text = auth == "off" ? auth : "{ \(auth) }"
        let rules = "headers: { \(rule): { \(field): a } }"
        let lines = errors(
            in: "channels: { a: { upstream: https://a.example, auth: \(text), \(rules) } }"
        )
        #expect(lines.count == count)
        #expect(lines.allSatisfy { $0.contains(" channels.a.headers.\(rule).\(field): ") })
    }

    @Test(arguments: [
        ("secret: { X-Key: env:A }", nil),
        ("secret: { X-Key: bare }", "secret.X-Key: a secret is written file:/path"),
        ("secret: { Authorization: env:A }", "secret.Authorization: auth sets Authorization"),
        ("secret: { Host: env:A }", "secret.Host: netproxy sets Host itself"),
        ("secret: { X-Key: env:A }, set: { x-key: a }", "secret.X-Key: the same header"),
        ("set: { X-Key: 'file:/etc/key' }", "set.X-Key: a secret is not read here, use "),
        ("default: { X-Key: 'exec:/bin/key' }", "default.X-Key: a secret is not read here, "),
        ("set: { X-Key: 'env:test' }", nil),
    ])
    func `other secret headers go under headers.secret`(rules: String, error: String?) {
        let found = errors(inChannel: "headers: { \(rules) }\nauth: { bearer: env:T }")
        #expect(found.count == (error == nil ? 0 : 1))
        #expect(found.first?.hasPrefix("channels.a.headers.\(error ?? "")") ?? true)
    }

    @Test func `other secret headers are not sent in the clear, either`() {
        let rules = "headers: { secret: { X-Key: env:A } }"
        let upstream = "upstream: http://api.example"
        #expect(errors(in: "channels: { a: { \(upstream), \(rules) } }").count == 1)
        let allowed = "auth: { allow_insecure: true }"
        #expect(errors(in: "channels: { a: { \(upstream), \(rules), \(allowed) } }").isEmpty)
    }

    @Test func `credentials are not sent in the clear to the second upstream, either`() {
        let text = """
            channels:
              a:
                upstream: [https://a.example, http://b.example]
                auth: { bearer: "env:TOKEN" }
            """
        #expect(errors(in: text).count == 1)
    }

    @Test(arguments: ["issuer", "authorization_url", "device_url", "revocation_url"])
    func `endpoints of the authorization server are not used in the clear`(key: String) {
        let rest = "token_url: https://login.example/t, client_id: a, client_auth: none"
        let lines = errors(inChannel: "auth: { oauth: { \(key): http://login.example/, \(rest) } }")
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("channels.a.auth.oauth.\(key): would send") == true)
    }

    @Test(arguments: [
        (
            "auth: { oauth: { client_id: a, client_secret: env:S } }",
            "channels.a.auth.oauth.token_url: token_url or issuer is required"
        ),
        (
            "auth: { oauth: { client_id: a, token_url: https://login.example/t } }",
            "channels.a.auth.oauth.client_secret: required, unless client_auth is none"
        ),
        (
            "auth: { oauth: { client_id: a, client_auth: none, token_url: http://login.example/ } }",
            "channels.a.auth.oauth.token_url: would send credentials over http://, use https:// "
                + "or set auth.allow_insecure: true"
        ),
        (
            "auth: { bearer: env:A, header: { name: X-Key, value: env:B } }",
            "channels.a.auth.header: expected only one kind of credential, found bearer, header"
        ),
        (
            "tls: { client_key: /etc/key.pem }",
            "channels.a.tls.client_certificate: required with client_key"
        ),
        (
            "tls: { pins: [sha256/AAAA] }",
            "channels.a.tls.pins[0]: expected sha256/ and the base64 of 32 bytes, "
                + "found 'sha256/AAAA'"
        ),
        (
            "auth: { oauth: { parameters: [a], token_url: https://l.example/t, client_id: a, "
                + "client_auth: none } }",
            "channels.a.auth.oauth.parameters: expected a map, found a list"
        ),
        ("proxy: [http://p.example:1]", "channels.a.proxy: expected a URL, found a list"),
        ("proxy: { username: me, password: literal:b }", "channels.a.proxy.url: required"),
        (
            "proxy: { url: 'http://p.example:1', username: me }",
            "channels.a.proxy.password: required"
        ),
        (
            "proxy: { url: 'http://p.example:1', password: literal:b }",
            "channels.a.proxy.username: required"
        ),
        (
            "proxy: { url: 'http://p.example:1', username: 'a:b', password: literal:b }",
            "channels.a.proxy.username: expected a user name without a colon, found a text"
        ),
        (
            "proxy: { url: 'https://p.example:1' }",
            "channels.a.proxy.url: expected a proxy such as http://proxy.example.com:3128"
        ),
        (
            "proxy: { url: 'http://p.example:1', usr_name: me }",
            "channels.a.proxy.usr_name: unknown key, did you mean 'username'?"
        ),
        (
            "retry: { backoff: { base: 5s, max: 1s } }",
            "channels.a.retry.backoff.max: must not be shorter than base"
        ),
        (
            "headers: { set: { Proxy-Authorization: a } }",
            "channels.a.headers.set.Proxy-Authorization: netproxy sets "
                + "Proxy-Authorization itself"
        ),
        (
            "headers: { default: { \"X Y\": a } }",
            "channels.a.headers.default.…: not a header name"
        ),
        (
            "headers: { set: { X-A: \"a\\r\\nX-B: b\" } }",
            "channels.a.headers.set.X-A: expected a header value without control characters "
                + "or leading or trailing spaces"
        ),
    ])
    func `a channel must be consistent`(lines: String, expected: String) {
        #expect(errors(inChannel: lines) == [expected])
    }

    @Test(arguments: [
        ("auth: { on_client_credential: reject }", "auth.on_client_credential: has no effect"),
        ("auth: { oauth: { BASE, client_secret: env:S } }", "auth.oauth.client_secret: client_au"),
        ("retry: { spill: 64KiB }", "retry.spill: must be more than replay_body"),
        ("retry: { replay_body: 2MiB, spill: 1MiB }", "retry.spill: must be more than replay_body"),
        ("proxy: http://u:p@proxy.example:3128", "proxy: a URL must not carry a user name or pass"),
    ])
    func `a key without effect is refused`(lines: String, error: String) {
        let base = "client_id: a, client_auth: none, token_url: https://l.example/t"
        let found = errors(inChannel: lines.replacing("BASE", with: base))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("channels.a.\(error)") == true)
    }

    @Test func `pins require an https upstream`() {
        let pin = "sha256/" + String(repeating: "A", count: 43) + "="
        func errors(_ upstreams: String) -> [String] {
            ConfigTests.errors(
                in: "channels: { a: { upstream: [\(upstreams)], tls: { pins: [\(pin)] } } }"
            )
        }
        #expect(errors("http://a.example").count == 1)
        #expect(errors("http://a.example, https://a.example").isEmpty)
        #expect(errors("https://a.example").isEmpty)
    }

    @Test(arguments: ["'a b'", "'a\"b'", "'a\\b'", "é", "''"])
    func `a scope contains only the characters of RFC 6749`(scope: String) {
        let rest = "token_url: https://login.example/t, client_id: a, client_auth: none"
        let lines = errors(inChannel: "auth: { oauth: { scopes: ['a!~', \(scope)], \(rest) } }")
        #expect(lines.count == 1)
        let expected = "channels.a.auth.oauth.scopes[1]: expected a scope without spaces"
        #expect(lines.first?.hasPrefix(expected) == true)
    }

    @Test(arguments: [
        "grant_type", "client_id", "client_secret", "refresh_token", "scope", "audience", "code",
        "redirect_uri", "code_verifier", "device_code", "assertion", "client_assertion", "state",
        "subject_token", "actor_token", "code_challenge", "dpop_jkt",
    ])
    func `a parameter that netproxy sets itself is refused`(name: String) {
        let rest = "token_url: https://login.example/t, client_id: a, client_auth: none"
        let lines = errors(inChannel: "auth: { oauth: { parameters: { \(name): x }, \(rest) } }")
        #expect(lines.count == 1)
        #expect(lines.first?.hasSuffix("netproxy sets \(name) itself, use the key for it") == true)
    }

    @Test func `a proxy for the authorization server is checked like one for the API`() {
        let oauth = "token_url: https://login.example/t, client_id: a, client_secret: literal:b"
        let proxy = "https://proxy.example:3128"
        #expect(
            errors(inChannel: "auth: { oauth: { \(oauth), proxy: '\(proxy)' } }") == [
                "channels.a.auth.oauth.proxy: expected a proxy such as http://proxy.example.com:3128"
            ]
        )
    }

    @Test(arguments: [#"/a"b"#, "/%zz", "/100%", #"/a\b"#, "/{id}"])
    func `a base path must be a valid path`(path: String) {
        let lines = errors(in: "channels: { a: { upstream: 'https://a.example\(path)' } }")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("percent-encoded") == true)
    }

    @Test(arguments: [
        "auth: 's3cret'", "auth: { basic: 'me:s3cret' }", "auth: { oauth: s3cret }",
        "auth: { header: { name: 'X-Key: s3cret', value: literal:a } }",
        "auth: { basic: { username: 'me:s3cret', password: literal:a } }",
        "auth: { bearer: literal:a, 'literal:s3cret': }", "auth: { bearer: s3cret }",
        "headers: s3cret", "headers: { set: { 'X-Key: s3cret': a } }", "access: s3cret",
        "proxy: 'http://me:s3cret@proxy.example'",
    ])
    func `the error of a misplaced secret does not repeat it`(lines: String) {
        let found = errors(inChannel: lines)
        #expect(!found.isEmpty)
        #expect(!found.joined().contains("s3cret"))
    }

    @Test(arguments: ["https://proxy.example:3128", "http://proxy.example:3128/path"])
    func `a proxy is an http URL without a path`(url: String) {
        #expect(
            errors(inChannel: "proxy: \(url)") == [
                "channels.a.proxy: expected a proxy such as http://proxy.example.com:3128"
            ]
        )
    }

    @Test func `a pool has at least one connection per worker`() throws {
        let lines = errors(
            in: """
                workers: 4
                defaults: { pool: { connections: 2 } }
                channels:
                  a: { upstream: https://a.example }
                  b: { upstream: https://b.example, pool: { connections: 4 } }
                """
        )
        let expected = "expected at least one for each of the 4 workers, found '2'"
        #expect(lines == ["netproxy.yaml:2:34: defaults.pool.connections: \(expected)"])
    }

    @Test func `localhost is the same address as 127.0.0.1`() {
        let lines = errors(
            in: """
                listen: [localhost:8080]
                channels: { a: { upstream: https://a.example, match: { listen: 127.0.0.1:8080 } } }
                """
        )
        #expect(lines.count == 1 && lines[0].hasSuffix("is already used by listen"))
    }

    @Test(arguments: [
        ("listen: 127.0.0.1:80\nadmin: 127.0.0.1:80", ["2:8: admin: '127.0.0.1:80'"]),
        ("listen: unix:/run/a.sock\nadmin: unix:/run/a.sock", ["2:8: admin: 'unix:/run/a.sock'"]),
        ("listen: [0.0.0.0:80, 127.0.0.1:80]", ["1:22: listen[1]: '127.0.0.1:80'"]),
        ("listen: [127.0.0.1:80, '[::]:80']", ["1:24: listen[1]: '[::]:80'"]),
        ("listen: ['[::1]:80', '[0:0::1]:80']", ["1:22: listen[1]: '[::1]:80'"]),
        ("listen: ['[::1]:80', 0.0.0.0:80, '[::2]:80', 127.0.0.1:81]", []),
        ("listen: [127.0.0.1:0, 127.0.0.1:0]\nadmin: 127.0.0.1:0", []),
    ])
    func `an address can be used only once`(
        lines: String,
        expected: [String]
    ) {
        let rest = "allow_remote: true\nchannels: { a: { upstream: https://a.example } }\n"
        #expect(
            errors(in: "\(lines)\n\(rest)")
                == expected.map { "netproxy.yaml:\($0) is already used by listen" }
        )
    }
}
