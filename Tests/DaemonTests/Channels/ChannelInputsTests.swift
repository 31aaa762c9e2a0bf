import NetproxyConfig
import NetproxyRequestLog
import OriginTransport
import TestSupport
import Testing

@testable import NetproxyChannels
@testable import NetproxyPath

/// The inputs of a channel for a reload, and the share of each loop.
@Suite struct ChannelInputsTests {
    private func channel(_ lines: String) throws -> ChannelConfiguration {
        let text = "channels:\n  orders:\n    upstream: https://a.example\n    \(lines)\n"
        return try ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get().channels[0]
    }

    private static let oauth = "token_url: https://l.example/t, client_id: a"

    @Test(arguments: [
        ("access: { key: 'file:/k' }", ["file:/k"], []),
        ("auth: { bearer: 'file:/b' }", ["file:/b"], []),
        ("auth: { basic: { username: u, password: 'file:/p' } }", ["file:/p"], []),
        ("auth: { header: { name: X-Key, value: 'file:/h' } }", ["file:/h"], []),
        ("auth: { oauth: { \(oauth), client_secret: 'file:/s' } }", ["file:/s"], []),
        (
            "auth: { oauth: { \(oauth), client_secret: 'file:/s', grant: refresh_token, "
                + "refresh_token: 'file:/r' } }", ["file:/s", "file:/r"], []
        ),
        (
            "auth: { oauth: { \(oauth), client_auth: none, dpop_key: 'file:/d' } }", [],
            ["file:/d"]
        ),
        (
            "auth: { oauth: { \(oauth), client_auth: private_key_jwt, "
                + "client_key: { key: 'file:/c', audience: x } } }", [], ["file:/c"]
        ),
        (
            "auth: { oauth: { \(oauth), grant: jwt_bearer, "
                + "assertion: { key: 'file:/a', audience: x } } }", [], ["file:/a"]
        ),
    ])
    func `a channel is rebuilt if one of its secrets has changed`(
        lines: String,
        secrets: [String],
        documents: [String]
    ) throws {
        let channel = try channel(lines)
        #expect(channel.secretReferences.map(\.description) == secrets)
        #expect(channel.documentReferences.map(\.description) == documents)
    }

    @Test func `a channel is rebuilt if one of its files has changed`() throws {
        let tls = "tls: { ca: /ca, client_certificate: /cert, client_key: /key }"
        #expect(try Set(channel(tls).files) == ["/ca", "/cert", "/key"])
        #expect(try channel("stub: [{ file: /sample }]").files == ["/sample"])
    }

    @Test func `the loops share a pool's connections and its TLS name`() throws {
        let configuration = try channel(
            "{ pool: { connections: 6, queue: 2 }, tls: { server_name: b.example } }"
                .replacing("{ pool", with: "pool").replacing(" }, tls", with: " }\n    tls")
                .replacing("example } }", with: "example }")
        )
        let channel = try ChannelRecord(
            configuration,
            ChannelInputs(files: []),
            accounts: [],
            gate: (AccessPolicy(), nil),
            log: ChannelLog(labels: LogLabels(channel: "orders"), directory: "/nowhere"),
            spillDirectory: "/nowhere"
        )
        let options = (0..<4).map { channel.rules.options(forLoop: $0, of: 4) }
        #expect(options.map(\.connections) == [2, 2, 1, 1])
        #expect(options.map(\.queueLength) == [1, 1, 1, 1])
        #expect(options.allSatisfy { $0.serverName == "b.example" })
    }
}
