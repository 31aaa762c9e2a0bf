import NetproxyConfig
import NetproxyHTTPMessage
import NetproxySettings
import Testing

@Suite struct ValueTests {
    @Test(arguments: [
        ("250ms", Duration.milliseconds(250)), ("5s", .seconds(5)), ("2m", .seconds(120)),
        ("1h", .seconds(3600)), ("5", nil), ("s", nil), ("-5s", nil), ("1.5s", nil), ("5 s", nil),
        ("5S", nil), ("٣s", nil), ("8760h", .seconds(31_536_000)), ("8761h", nil), ("fast", nil),
        ("", nil),
    ])
    func `a duration is digits and a unit`(text: String, expected: Duration?) {
        #expect(DurationText.parse(text) == expected)
    }

    @Test(arguments: [
        ("512B", 512), ("64KiB", 65_536), ("8MiB", 8_388_608), ("1GiB", 1_073_741_824),
        ("64", nil), ("64KB", nil), ("64kib", nil), ("+1B", nil), ("1.5MiB", nil), ("KiB", nil),
        ("1024GiB", 1 << 40), ("1025GiB", nil), ("999999999999GiB", nil),
    ])
    func `a size is digits and a unit`(text: String, expected: Int?) {
        #expect(ByteCount(text: text)?.bytes == expected)
    }

    @Test(arguments: [
        "127.0.0.1:0", "[::1]:8080", "unix:/run/a.sock", "systemd:http",
        "unix:/\(String(repeating: "a", count: 106))",
    ])
    func `a listen address is printed as written`(text: String) {
        #expect(ListenAddress(text: text)?.description == text)
    }

    @Test(arguments: [
        "8080", ":8080", "::1:8080", "[::1]", "127.0.0.1:65536", "127.0.0.1:+1", "unix:a.sock",
        "systemd:", "a..b:80", "a.:80", "[1:2:3:4:5:6:7:8:]:80", "[:1:2:3:4:5:6:7:8]:80",
        "[1:2:3:4:5:6:7]:80",
        "[1::2::3]:80", "[1:2:3:4::5:6:7:8]:80", "[::12345]:80",
        "unix:/\(String(repeating: "a", count: 107))",
    ])
    func `a malformed listen address is refused`(text: String) {
        #expect(ListenAddress(text: text) == nil)
    }

    @Test(arguments: [
        ("retry: { attempts: 10 }", "retry: { attempts: 11 }"),
        ("retry: { status: [400, 599] }", "retry: { status: [399] }"),
        ("retry: { status: [] }", "retry: { status: [600] }"),
        ("retry: { replay_body: 64MiB }", "retry: { replay_body: 65537KiB }"),
        ("retry: { replay_body: 0B, spill: 1B }", "retry: { replay_body: 0B, spill: 0B }"),
        ("retry: { spill: 16GiB }", "retry: { spill: 17GiB }"),
        ("retry: { budget: 100% }", "retry: { budget: 101% }"),
        ("pool: { connections: 1 }", "pool: { connections: 0 }"),
        ("pool: { connections: 100000 }", "pool: { connections: 100001 }"),
        ("pool: { queue: 0 }", "pool: { queue: 1000001 }"),
        ("pool: { idle: 1ms }", "pool: { idle: 0ms }"),
        (
            "tls: { pins: [sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=] }",
            "tls: { pins: [AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=] }"
        ),
        (
            "tls: { pins: [] }",
            "tls: { pins: [sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA] }"
        ),
        ("match: { path: /a }", "match: { path: '/a?b' }"),
        ("match: { path: /a/ }", "match: { path: '/a#b' }"),
        ("access: { origins: [a-b://c] }", "access: { origins: ['a_b://c'] }"),
        ("stub: [{ status: 304 }]", "stub: [{ status: 304, body: x }]"),
        ("timeouts: { connect: 1ms }", "timeouts: { connect: 0s }"),
        ("timeouts: { idle: 8760h }", "timeouts: { idle: 8761h }"),
        ("auth: off", "auth: { basic: { username: 'a:b', password: env:P } }"),
    ])
    func `a channel's values are accepted up to their limits`(last: String, beyond: String) {
        #expect(errors(inChannel: last) == [])
        #expect(errors(inChannel: beyond).count == 1)
    }

    @Test(arguments: [
        ("workers: 1", "workers: 0"),
        ("workers: 64", "workers: 65"),
        ("busy_poll: auto", "busy_poll: on"),
        ("busy_poll: off", "busy_poll: 50ms"),
        ("limits: { header_size: 1KiB }", "limits: { header_size: 1023B }"),
        (
            "limits: { header_size: 1MiB, target_size: 1MiB }",
            "limits: { header_size: 1MiB, target_size: 1025KiB }"
        ),
        ("limits: { header_size: 1MiB }", "limits: { header_size: 1025KiB }"),
        ("limits: { header_count: 1 }", "limits: { header_count: 0 }"),
        ("limits: { connections: 1 }", "limits: { connections: 0 }"),
        ("limits: { head_timeout: 1ms }", "limits: { head_timeout: 0s }"),
        ("limits: { http2: { streams: 1 } }", "limits: { http2: { streams: 0 } }"),
        ("limits: { http2: off }", "limits: { http2: on }"),
        ("drain: 0s", "drain: 8761h"),
        ("log: { rotate: { size: 64KiB } }", "log: { rotate: { size: 65535B } }"),
        ("log: { rotate: { keep: 0 } }", "log: { rotate: { keep: 1001 } }"),
        ("connect: ['*.a.example:1']", "connect: ['*.a.example:0']"),
        ("connect: ['*:65535']", "connect: ['*:65536']"),
        ("connect: ['*.a1:1']", "connect: ['*.0.0.1:1']"),
        ("connect: ['a.example:1']", "connect: ['a.example:0']"),
        ("admin: 127.0.0.1:0", "admin: 0.0.0.0:8081"),
        ("admin: '[::1]:8081'", "admin: '[::2]:8081'"),
    ])
    func `values are accepted up to their limits`(last: String, beyond: String) {
        let channels = "channels: { a: { upstream: https://a.example } }"
        #expect(errors(in: "\(last)\n\(channels)") == [])
        #expect(errors(in: "\(beyond)\n\(channels)").count == 1)
    }

    @Test func `a channel's name has at most 63 characters`() throws {
        let name = String(repeating: "a", count: 63)
        #expect(errors(in: "channels: { \(name): { upstream: https://a.example } }") == [])
        #expect(errors(in: "channels: { a\(name): { upstream: https://a.example } }").count >= 1)
    }

    @Test func `no channel may have the name of the daemon's own log`() {
        let errors = errors(in: "channels: { netproxy: { upstream: https://a.example } }")
        #expect(errors.count == 1)
        #expect(errors.allSatisfy { $0.contains("netproxy.log is the daemon's own log") })
    }

    @Test(arguments: ["off", "\"off\"", "'off'"])
    func `off means off, quoted or not`(off: String) throws {
        let configuration = try load(
            """
            admin: \(off)
            log: { rotate: \(off) }
            channels:
              a:
                upstream: https://a.example
                timeouts: { connect: \(off), total: \(off) }
                retry: { spill: \(off), replay_body: \(off) }
                log: { query: \(off) }
            """
        )
        let channel = configuration.channels[0]
        #expect(configuration.admin.isEmpty)
        #expect(configuration.log.rotate == nil)
        #expect(channel.timeouts.connect == nil)
        #expect(channel.retry.spill == nil)
        #expect(channel.retry.replayBody == ByteCount(0))
        #expect(channel.log.query == .off)
    }

    @Test(arguments: ["off", "'off'"])
    func `off instead of a list is an empty list`(off: String) throws {
        let configuration = try load(
            """
            listen: \(off)
            connect: \(off)
            defaults: { retry: { status: [503] }, headers: { remove: [X-Debug] } }
            channels:
              a:
                upstream: https://a.example
                match: { hosts: \(off), listen: "127.0.0.1:0" }
                retry: { status: \(off) }
                headers: { remove: \(off) }
                access: { hosts: \(off), origins: \(off), users: \(off) }
                log: { headers: \(off) }
            """
        )
        let channel = configuration.channels[0]
        #expect(configuration.listen.isEmpty && configuration.connect.isEmpty)
        #expect(channel.match.hosts.isEmpty)
        #expect(channel.retry.status.isEmpty)
        #expect(channel.headers.remove.isEmpty)
        #expect(channel.access.hosts.isEmpty && channel.access.origins.isEmpty)
        #expect(channel.access.users.isEmpty && channel.log.headers.isEmpty)
    }

    @Test(arguments: [
        ("HTTP://App.Example:80", "http://app.example"),
        ("https://app.example:443", "https://app.example"),
        ("https://app.example:80", "https://app.example:80"),
        ("http://[::1]:80", "http://[::1]"), ("http://[::1]", "http://[::1]"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
    ])
    func `an origin is normalized to the form that browsers send`(text: String, expected: String)
        throws
    {
        #expect(try channel("access: { origins: ['\(text)'] }").access.origins == [expected])
    }

    @Test(arguments: [("1.2", TLSDemands.Version.v1_2), ("\"1.3\"", .v1_3)])
    func `a TLS version may be quoted`(text: String, expected: TLSDemands.Version) throws {
        #expect(try channel("tls: { minimum: \(text) }").tls.minimum == expected)
    }

    @Test func `an upstream has an origin and a base path`() throws {
        let text = "channels: { a: { upstream: 'HTTPS://API.example.com:8443/v1/' } }"
        let expected = UpstreamURL(
            origin: Origin(scheme: .https, host: "api.example.com", port: 8443),
            basePath: "/v1"
        )
        #expect(try load(text).channels[0].upstreams == [expected])
    }

    @Test(arguments: [
        "ftp://a.example", "https://", "https://a.example/?x", "https://a.example/#x",
        "https://u@a.example", "https://a.example:0", "https://a.example/%2e%2E/x", "https://a b",
    ])
    func `an invalid upstream URL is refused`(url: String) {
        #expect(errors(in: "channels: { a: { upstream: '\(url)' } }").count == 1)
    }

    @Test(arguments: [
        ("127.1", false), ("2130706433", false), ("0x7F.1", false), ("a.0x1", false),
        ("10.0.0.1", true), ("a1", true), ("1.a", true), ("0x.example", true),
    ])
    func `a host is a valid name`(host: String, isOne: Bool) {
        #expect(errors(inChannel: "match: { hosts: ['\(host)'] }").isEmpty == isOne)
    }

    @Test func `a channel of one line has all defaults`() throws {
        let channel = try channel("tls: null")
        #expect(channel.match.path == "/a")
        #expect(channel.match.hosts == ["a.localhost"])
        #expect(channel.match.strip == .remove)
        #expect(channel.log.subsystem == "netproxy.a")
        #expect(channel.retry.attempts == 2)
        #expect(channel.pool.queue == 1024)
        #expect(channel.tls.minimum == .v1_2)
    }

    @Test func `exec maps names of variables to their content`() throws {
        let channel =
            "upstream: https://a.example, exec: { A_URL: url, _k2: key, S: socket, H: host }"
        let exec = try load("channels: { a: { \(channel) } }").channels[0].exec
        #expect(exec.map(\.name) == ["A_URL", "_k2", "S", "H"])
        #expect(exec.map(\.value) == [.url, .key, .socket, .host].map(ExecText.init))
        #expect(
            errors(
                in: "channels: { a: { upstream: https://a.example, exec: { A: uri, 2B: url } } }"
            )
            .map { $0.split(separator: ": ", maxSplits: 1)[1] } == [
                "channels.a.exec.A: expected url, keyed_url, key, socket, host or a text such as "
                    + "'sk-{key:36}', found 'uri'",
                "channels.a.exec.2B: the name of a variable has letters, digits and '_', and "
                    + "begins with no digit",
            ]
        )
        let text =
            "defaults: { exec: { A: url, B: key } }\nchannels: { a: { upstream: https://a.example, exec: { A: null } } }"
        #expect(try load(text).channels[0].exec.map(\.name) == ["B"])
    }

    @Test func `a variable of exec is a text with placeholders`() throws {
        func parts(_ text: String) throws -> [ExecText.Part] {
            try channel("exec: { A: '\(text)' }").exec[0].value.parts
        }
        #expect(try parts("ghp_{key:36}") == [.text("ghp_"), .shapedKey(length: 36)])
        #expect(try parts("{url}/v1") == [.word(.url), .text("/v1")])
        #expect(try parts("__token__") == [.text("__token__")])
        for text in ["{key:19}", "{key:257}", "{uri}", "a{key", "key}", "keys"] {
            #expect(errors(inChannel: "exec: { A: '\(text)' }").count == 1, "\(text)")
        }
    }

    @Test func `system_roots adds the system's roots to those of a file`() throws {
        func tls(_ keys: String) throws -> TLSDemands.SystemRoots {
            try load("channels: { a: { upstream: https://a.example, tls: { \(keys) } } }")
                .channels[0].tls.systemRoots
        }
        #expect(try tls("ca: /ca.pem") == .replaced)
        #expect(try tls("ca: /ca.pem, system_roots: true") == .trusted)
    }
}
