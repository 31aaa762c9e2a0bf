import NetproxyConfig
import Testing

/// The differences between two configurations, key by key.
@Suite struct WrittenValuesTests {
    private func changes(from old: String, to new: String) throws -> [String] {
        func written(_ lines: String) throws -> WrittenValues {
            let upstream = "upstream: https://a.example"
            return try load("channels: { a: { \(upstream), \(lines) } }").written
        }
        return try written(new).changes(from: written(old), channel: "a")
    }

    @Test func `a change is shown with its default, where one is not written`() throws {
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
    func `what may be a credential is not shown`(lines: String) throws {
        let added = try changes(from: "rewrite: false", to: lines)
        #expect(!added.isEmpty)
        #expect(!added.joined().contains("c4nary"))
        let other = lines.replacing("c4nary", with: "other")
        for line in try changes(from: lines, to: other) {
            #expect(line.hasSuffix(": changed"))
        }
    }

    @Test func `what is only spelt out does not change`() throws {
        #expect(try changes(from: "rewrite: false", to: "timeouts: { total: off }").isEmpty)
    }

    @Test func `a default that is merged in is a value of the channel`() throws {
        func written(_ total: String) throws -> WrittenValues {
            let channels = "channels: { a: { upstream: https://a.example } }"
            return try load("defaults: { timeouts: { total: \(total) } }\n\(channels)").written
        }
        let changes = try written("6s").changes(from: written("5s"), channel: "a")
        #expect(changes == ["channels.a.timeouts.total: 5s → 6s"])
        #expect(try written("6s").changes(from: written("5s"), channel: nil).isEmpty)
    }

    @Test(arguments: WrittenValues.channelDefaults.sorted { $0.key < $1.key })
    func `a default that is shown is that of the reader`(key: String, value: String) throws {
        func configuration(_ keys: [(String, String)]) throws -> ChannelConfiguration {
            let lines = keys.map { key, value in
                let parts = key.split(separator: ".")
                let opening = parts.map { "\($0): " }.joined(separator: "{ ")
                return opening + value + String(repeating: " }", count: parts.count - 1)
            }
            return try channel(lines.joined(separator: "\n"))
        }
        guard key.hasPrefix("auth.") else {
            #expect(try configuration([(key, value)]) == configuration([]))
            return
        }
        let name = key.dropFirst("auth.".count)
        #expect(
            try configuration([("auth", "{ bearer: env:A, \(name): \(value) }")])
                == configuration([("auth", "{ bearer: env:A }")])
        )
    }
}
