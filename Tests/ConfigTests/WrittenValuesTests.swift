import NetproxyConfig
import Testing

/// Tests of the differences between two configurations, key by key.
@Suite struct WrittenValuesTests {
    private func changes(from old: String, to new: String) throws -> [String] {
        func written(_ lines: String) throws -> WrittenValues {
            let upstream = "upstream: https://a.example"
            return try load("channels: { a: { \(upstream), \(lines) } }").written
        }
        return try written(new).changes(from: written(old), channel: "a")
    }

    @Test func `a change shows the default of a key that is not written`() throws {
        let lines = try changes(
            from: "pool: { connections: 5 }",
            to: "timeouts: { total: 30s }, access: { methods: [GET, PUT] }"
        )
        #expect(
            lines == [
                "channels.a.access.methods: default → [GET, PUT]",
                "channels.a.pool.connections: 5 → 128", "channels.a.timeouts.total: off → 30s",
            ]
        )
    }

    @Test(arguments: [
        "auth: { bearer: 'literal:c4nary' }", "auth: { exec: [/bin/c4nary, c4nary] }",
        "auth: { basic: { username: a, password: 'literal:c4nary' } }",
        "headers: { set: { X-Key: c4nary } }", "headers: { secret: { X-Key: 'env:c4nary' } }",
        "stub: [{ body: c4nary }]", "auth: { bearer: env:A, prefix: 'c4nary ' }",
        "auth: { oauth: { token_url: 'https://l.example/t?key=c4nary', client_id: a, "
            + "client_auth: none, parameters: { key: c4nary } } }",
    ])
    func `a possible credential is not shown`(lines: String) throws {
        let added = try changes(from: "rewrite: false", to: lines)
        #expect(!added.isEmpty)
        #expect(!added.joined().contains("c4nary"))
        let other = lines.replacing("c4nary", with: "other")
        for line in try changes(from: lines, to: other) {
            #expect(line.hasSuffix(": changed"))
        }
    }

    @Test func `writing a default is not a change`() throws {
        #expect(try changes(from: "rewrite: false", to: "timeouts: { total: off }").isEmpty)
    }

    @Test func `a merged default counts as a value of the channel`() throws {
        func written(_ total: String) throws -> WrittenValues {
            let channels = "channels: { a: { upstream: https://a.example } }"
            return try load("defaults: { timeouts: { total: \(total) } }\n\(channels)").written
        }
        let changes = try written("6s").changes(from: written("5s"), channel: "a")
        #expect(changes == ["channels.a.timeouts.total: 5s → 6s"])
        #expect(try written("6s").changes(from: written("5s"), channel: nil).isEmpty)
    }

    /// A channel with the keys that a default requires; `%` stands for the default.
    private static let channels: [(prefix: String, lines: String)] = [
        (
            "auth.oauth.exchange.",
            "auth: { oauth: { grant: token_exchange, token_url: 'https://l.example/t', client_id: a, "
                + "client_auth: none, exchange: { subject_token: 'env:A'% } } }"
        ),
        (
            "auth.oauth.",
            "auth: { oauth: { token_url: 'https://l.example/t', client_id: a, "
                + "client_secret: 'env:A'% } }"
        ),
        ("auth.jwt.", "auth: { jwt: { key: 'env:A'% } }"),
        ("auth.hmac.", "auth: { hmac: { key: 'env:A', message: x% } }"),
        ("auth.", "auth: { bearer: 'env:A'% }"),
        ("rate.each_key.", "rate: { each_key: { requests: 5% } }"),
        ("rate.", "rate: { requests: 5% }"),
        ("stub[*].", "stub: [{ path: /a% }]"),
    ]

    @Test(arguments: ConfigurationSchema.channelDefaults.sorted { $0.key < $1.key })
    func `a written default has the same effect as no key`(
        key: String,
        value: String
    ) throws {
        let written = value.hasPrefix("[") ? value : "'\(value)'"
        guard let (prefix, lines) = Self.channels.first(where: { key.hasPrefix($0.prefix) }) else {
            let parts = key.split(separator: ".")
            let opening = parts.map { "\($0): " }.joined(separator: "{ ")
            let closing = String(repeating: " }", count: parts.count - 1)
            #expect(try channel(opening + written + closing) == channel(""))
            return
        }
        let name = key.dropFirst(prefix.count)
        #expect(
            try channel(lines.replacing("%", with: ", \(name): \(written)"))
                == channel(lines.replacing("%", with: ""))
        )
    }

    @Test func `a channel has more than fifty defaults`() {
        #expect(ConfigurationSchema.channelDefaults.count > 50)
    }
}
