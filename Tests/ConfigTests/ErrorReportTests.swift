import NetproxyConfig
import Testing

@Suite struct ErrorReportTests {
    @Test(arguments: [
        (
            "upstream: https://api.example.com",
            "1:1: upstream: upstream belongs to a channel, as in channels: { name: { upstream: … } }"
        ),
        (
            "channels: { a: { upstream: https://a, auth: { api_key: 'file:/k' } } }",
            "1:47: channels.a.auth.api_key: unknown key; for an API key: "
                + "header: { name: X-Api-Key, value: \"file:/path\" }"
        ),
        (
            "channels: { a: { upstream: https://a, auth: { type: bearer } } }",
            "1:47: channels.a.auth.type: unknown key: the kind of the credential is itself the key, "
                + "one of bearer, basic, header, exec, aws, jwt, hmac or oauth"
        ),
        (
            "channels: { a: { upstream: 'https://${HOST}/v1' } }",
            "1:28: channels.a.upstream: variables such as ${NAME} are not replaced; write the value"
        ),
    ])
    func `a key in the wrong place is one error that names the right place`(
        text: String,
        error: String
    ) {
        #expect(errors(in: text) == ["netproxy.yaml:\(error)"])
    }

    @Test func `a file with eleven errors yields eleven lines in the order of the file`() {
        let text = """
            listen: [0.0.0.0:8080]
            worker: 4
            drain: 30
            limits: { header_size: 16 }
            channels:
              Orders:
                upstream: https://user:hunter2@api.example.com
              billing:
                upstream: https://billing.example.com
                timeouts: { connect: fast }
                timeout: 5s
                auth: { bearer: hunter2 }
                retry: { attempts: many }
                headers: { set: { Host: example.com } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:1:10: listen[0]: '0.0.0.0:8080' is not a loopback address, "
                    + "set allow_remote: true",
                "netproxy.yaml:2:1: worker: unknown key, did you mean 'workers'?",
                "netproxy.yaml:3:8: drain: expected a duration such as 5s (ms, s, m or h), found '30'",
                "netproxy.yaml:4:24: limits.header_size: "
                    + "expected a size such as 64KiB (B, KiB, MiB or GiB), found '16'",
                "netproxy.yaml:6:3: channels.Orders: a channel name has 1 to 63 lower-case "
                    + "letters, digits and '-', and does not begin with '-'",
                "netproxy.yaml:7:15: channels.Orders.upstream: "
                    + "a URL must not carry a user name or password; "
                    + "they go under auth, a proxy's under proxy",
                "netproxy.yaml:10:26: channels.billing.timeouts.connect: "
                    + "expected a duration such as 5s, found 'fast'",
                "netproxy.yaml:11:5: channels.billing.timeout: "
                    + "unknown key, did you mean 'timeouts'?",
                "netproxy.yaml:12:21: channels.billing.auth.bearer: a secret is written "
                    + "file:/path, env:NAME, cred:NAME, exec:/path arg or literal:text",
                "netproxy.yaml:13:24: channels.billing.retry.attempts: "
                    + "expected a whole number from 0 to 10, found 'many'",
                "netproxy.yaml:14:23: channels.billing.headers.set.Host: "
                    + "netproxy sets Host itself",
            ]
        )
    }

    @Test(arguments: [
        ("wrokers: 1", [AdminAddress.unix("/run/here.sock")]), ("admin: off", nil),
        ("state: 17", nil), ("admin: { a: b }", nil), ("channels: [", nil),
    ])
    func `an invalid file still yields a valid admin address`(
        line: String,
        admin: [AdminAddress]?
    ) {
        let text = """
            admin: unix:/run/here.sock
            channels: { orders: { upstream: https://api.example.com } }
            \(line)
            """
        #expect(!errors(in: text).isEmpty)
        #expect(failure(of: text)?.admin == admin)
    }

    @Test(arguments: [
        ("lgo: { directory: /x }", true), ("log: { format: nosuch }", true), ("wrokers: 1", false),
        ("drain: 1", false),
    ])
    func `an error concerns its key even if the key is misspelled`(line: String, isLog: Bool) {
        let text = "\(line)\nchannels: { a: { upstream: 'http://127.0.0.1:9' } }"
        #expect(failure(of: text)?.concerns(["log"]) == isLog)
    }

    @Test(arguments: [
        ("", "1:1: expected a map with listen, channels and other keys, found an empty file"),
        (
            "# nothing\n",
            "1:1: expected a map with listen, channels and other keys, found an empty file"
        ),
        ("- a\n", "1:1: expected a map with listen, channels and other keys, found a list"),
        ("drain: 5s\n", "1:1: channels: at least one channel is required"),
        ("channels: {}\n", "1:11: channels: at least one channel is required"),
        ("channels: []\n", "1:11: channels: expected a map of channels, found a list"),
        (
            "drain: 5s\ndrain: 6s\nchannels: { a: { upstream: https://a.example } }\n",
            "2:1: drain: duplicate key, first used in line 1"
        ),
        (
            "drain: *nowhere\n",
            "1:8: *name needs an anchor, &name; a text that begins with * needs quotes"
        ),
        ("drain: 5s\né: \u{1}\n", "2:4: control characters are not allowed"),
        (
            "channel_log: 1\nchannels: { a: { upstream: https://a.example } }\n",
            "1:1: channel_log: unknown key, did you mean 'channels'?"
        ),
    ])
    func `an unreadable file leads to a single error`(text: String, expected: String) {
        #expect(errors(in: text) == ["netproxy.yaml:\(expected)"])
    }

    @Test func `a duplicate key is one error among the others`() {
        let text = """
            bogus: 1
            drain: 5s
            'drain': 6s
            channels:
              a: { upstream: https://a.example, auth: { basic: 1 }, auth: { exec: helper } }
              b: { upstream: https://b.example, pool: { idle: fast } }
              "b": { upstream: https://b.example, pool: { queue: many } }
            drain: 7s
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:1:1: bogus: unknown key",
                "netproxy.yaml:3:1: drain: duplicate key, first used in line 2",
                "netproxy.yaml:5:57: channels.a.auth: duplicate key, first used in line 5",
                "netproxy.yaml:5:71: channels.a.auth.exec: "
                    + "expected a list that begins with the absolute path of a program",
                "netproxy.yaml:7:3: channels.b: duplicate key, first used in line 6",
                "netproxy.yaml:7:54: channels.b.pool.queue: "
                    + "expected a whole number from 0 to 1000000, found 'many'",
                "netproxy.yaml:8:1: drain: duplicate key, first used in line 2",
            ]
        )
    }

    @Test func `a value that is not a map has no missing keys`() {
        let text = """
            channels:
              a: fast
              b: { upstream: https://b.example, auth: { oauth: yes } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:2:6: channels.a: expected a map, "
                    + "such as { upstream: https://api.example.com }, found a text",
                "netproxy.yaml:3:52: channels.b.auth.oauth: expected a map, such as "
                    + "{ issuer: https://login.example.com, client_id: app }, found a text",
            ]
        )
    }

    @Test func `a duplicate host is reported at its second position`() {
        let text = """
            channels:
              a: { upstream: https://a.example, match: { hosts: [a.example, b.example, A.example] } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:2:76: channels.a.match.hosts[2]: "
                    + "'a.example' is already used by channel 'a' itself"
            ]
        )
    }

    @Test(arguments: ["unix:/run//a.sock", "unix:/run/./a.sock", "unix://run/a.sock"])
    func `two spellings of a socket's path are one socket`(address: String) {
        let text = """
            listen: [unix:/run/a.sock, '\(address)']
            channels: { a: { upstream: https://a.example } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:1:28: listen[1]: 'unix:/run/a.sock' is already used by listen"
            ]
        )
    }

    @Test func `a duplicate key is reported even if the rest is not YAML`() throws {
        let lines = errors(in: "log: { keep: 1, keep: 2 }\ndrain: 5s\nlisten: [a\nchannels: {}\n")
        #expect(lines.count == 2)
        #expect(lines.first == "netproxy.yaml:1:17: duplicate key 'keep', first used in line 1")
    }

    @Test func `the error of a key with line breaks is a single line`() throws {
        let lines = errors(in: "\"wor\\r\\nkers\": 4\n\"a\\u2028b\": 1\n")
        #expect(lines.count >= 2)
        for line in lines {
            #expect(!line.unicodeScalars.contains { $0 == "\n" || $0 == "\u{2028}" })
        }
    }

    @Test func `a YAML syntax error leads to a single error`() throws {
        let lines = errors(in: "drain: 5s\nlog: [a\nchannels: {}\n")
        #expect(lines.count == 1)
        #expect(try #require(lines.first).hasPrefix("netproxy.yaml:3:"))
    }

    @Test func `aliases cannot multiply into a huge configuration`() {
        let levels = (1...8).map { level in
            let items = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            return "a\(level): &a\(level) [\(items)]"
        }
        let text = "a0: &a0 x\n" + levels.joined(separator: "\n")
        #expect(errors(in: text).count == 1)
        #expect(errors(in: text).first?.hasSuffix("more than 100000 values") == true)
    }

    @Test(arguments: [
        ("timeouts: { connect: 0s }", "timeouts.connect: expected a duration above zero or off"),
        ("pool: { wait: 0ms }", "pool.wait: expected a duration above zero"),
    ])
    func `a duration of zero has its own error`(line: String, said: String) {
        #expect(errors(inChannel: line).first?.hasPrefix("channels.a.\(said), found '0") == true)
    }

    @Test(arguments: [
        ("target_size: 32KiB", "1:24: limits.target_size: ", "16KiB"),
        ("target_size: 8KiB, header_size: 4KiB", "1:24: limits.target_size: ", "4KiB"),
    ])
    func `a target limit above the header limit is an error`(
        limits: String,
        place: String,
        head: String
    ) {
        let text = "limits: { \(limits) }\nchannels: { a: { upstream: https://a.example } }\n"
        #expect(
            errors(in: text) == [
                "netproxy.yaml:\(place)must not be larger than header_size, which is \(head)"
            ]
        )
    }

    @Test func `a header limit below the default target limit is valid`() {
        let text = "limits: { header_size: 4KiB }\nchannels: { a: { upstream: https://a.example } }"
        #expect(errors(in: text).isEmpty)
    }

    @Test(arguments: [40, 100_000])
    func `deep nesting is one error`(depth: Int) {
        let text =
            "connect: " + String(repeating: "[", count: depth)
            + String(repeating: "]", count: depth)
        #expect(errors(in: text).count == 1)
    }

    @Test func `a text above 4 MiB is not parsed`() {
        let lines = errors(in: String(repeating: "# comment\n", count: 500_000))
        #expect(lines == ["netproxy.yaml:1:1: larger than 4MiB"])
    }

    @Test func `an error in the defaults is reported once, at its position`() {
        let text = """
            defaults: { timeouts: { idle: soon } }
            channels:
              a: { upstream: https://a.example }
              b: { upstream: https://b.example, timeouts: { idle: 5s } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:1:31: defaults.timeouts.idle: "
                    + "expected a duration such as 5s, found 'soon'"
            ]
        )
    }

    @Test(arguments: [
        ("a: 1\nb: caf", [0xE9, 0x0A], "2:7"), ("", [0xFF, 0xFE, 0x61, 0], "1:1"),
        ("é\u{FFFD}: ", [0xE9], "1:5"),
    ])
    func `a file in another encoding is reported at its first invalid byte`(
        before: String,
        rest: [UInt8],
        place: String
    ) {
        let bytes = Array(before.utf8) + rest
        let result = ConfigurationLoader.load(bytes: bytes, file: "n.yaml", environment: homeOnly)
        guard case .failure(let failure) = result else {
            Issue.record("accepted")
            return
        }
        #expect(
            failure.description == "n.yaml:\(place): not valid UTF-8; save the file as UTF-8"
        )
    }

    @Test func `a byte order mark at the start is skipped`() throws {
        let text = "channels: { a: { upstream: https://a.example } }\n"
        let bytes = [0xEF, 0xBB, 0xBF] + Array(text.utf8)
        let result = ConfigurationLoader.load(bytes: bytes, file: "n.yaml", environment: homeOnly)
        #expect(try result.get().channels.map(\.name) == ["a"])
    }

    @Test(arguments: [
        ("a: 1\n", nil), ("a: 1\r\n", nil), ("{\"a\": 1}", nil), ("", nil), ("a: 1", "1:5"),
        ("a:\n  b: c", "2:7"),
    ])
    func `a last line without a line end may be incomplete`(text: String, place: String?) {
        let found = ConfigurationLoader.cutOff(Array(text.utf8), file: "n.yaml")
        #expect(
            found?.description.hasPrefix("n.yaml:\(place ?? ""): the last line")
                == place.map { _ in true }
        )
    }

    @Test func `a second document is an error`() {
        let text = "channels: { a: { upstream: https://a.example } }\n---\nchannels: {}\n"
        let lines = errors(in: text)
        #expect(lines.count == 1 && lines[0].contains("single document"))
    }

    @Test func `a value out of range is reported with its limit`() {
        let path = "unix:/" + String(repeating: "p", count: 107)
        let text = """
            listen: [\(path)]
            admin: \(path)
            drain: 8761h
            channels: { a: { upstream: https://a.example, match: { listen: '\(path)' } } }
            """
        let form = "expected a path of at most 107 bytes"
        #expect(
            errors(in: text).map { $0.prefix { $0 != "," } } == [
                "netproxy.yaml:1:10: listen[0]: \(form)", "netproxy.yaml:2:8: admin: \(form)",
                "netproxy.yaml:3:8: drain: expected at most a year (8760h)",
                "netproxy.yaml:4:64: channels.a.match.listen: \(form)",
            ]
        )
        let longest = path.dropLast()
        #expect(errors(in: "listen: [\(longest)]\nchannels: { a: { upstream: http://a } }") == [])
    }

    @Test func `a very long number is reported with its limit`() {
        let number = String(repeating: "9", count: 30)
        let text = """
            drain: \(number)h
            limits: { header_size: \(number)MiB }
            channels: { a: { upstream: https://a.example } }
            """
        #expect(
            errors(in: text) == [
                "netproxy.yaml:1:8: drain: expected at most a year (8760h), found '\(number)h'",
                "netproxy.yaml:2:24: limits.header_size: "
                    + "expected a size from 1KiB to 1MiB, found '\(number)MiB'",
            ]
        )
        let zeroes = String(repeating: "0", count: 30)
        let padded = "drain: \(zeroes)5s\nchannels: { a: { upstream: https://a.example } }"
        #expect(errors(in: padded) == [])
    }

    @Test func `a default admin socket with a path that is too long is an error`() {
        let state = "/" + String(repeating: "s", count: 96)
        let channels = "channels: { a: { upstream: http://a.example } }"
        #expect(
            errors(in: "state: \(state)\n\(channels)") == [
                "netproxy.yaml:1:1: admin: required, "
                    + "because the default socket's path has more than 107 bytes"
            ]
        )
        #expect(errors(in: "state: \(state.dropLast())\n\(channels)") == [])
        #expect(errors(in: "state: \(state)\nadmin: off\n\(channels)") == [])
    }
}
