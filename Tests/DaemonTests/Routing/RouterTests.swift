import NetproxyBytes
import NetproxyConfig
import NetproxyHTTP1
import Testing

@testable import NetproxyPath

/// Routes whose stories would require well-known ports.
@Suite struct RouterTests {
    private func route(_ authority: String, _ upstreams: [String: String]) throws -> [String] {
        let bytes = Array("GET http://\(authority)/x HTTP/1.1\r\nHost: \(authority)\r\n\r\n".utf8)
        var decoder = RequestHeadDecoder()
        let head = try #require(try decoder.decode(bytes.span)).head
        let channels = upstreams.map { "\($0): { upstream: '\($1)' }" }.sorted()
        return try [channels, channels.reversed()].map { channels in
            let configuration = try ConfigurationLoader.load(
                text: "channels: { \(channels.joined(separator: ", ")) }",
                file: "n.yaml",
                environment: ["HOME": "/home/someone"]
            ).get()
            let router = Router(configuration.channels)
            return configuration.channels[try router.route(head, dedicated: nil).channel].name
        }
    }

    @Test(arguments: [
        ("api.test", "plain"), ("api.test:80", "plain"), ("api.test:8443", "other"),
    ])
    func `an authority without a port matches the server on the default port`(
        authority: String,
        channel: String
    ) throws {
        let upstreams = ["other": "http://api.test:8443", "plain": "http://api.test"]
        #expect(try route(authority, upstreams) == [channel, channel])
    }

    @Test func `an authority without a port matches the only server of the host`() throws {
        #expect(try route("api.test", ["other": "https://api.test:8443"]) == ["other", "other"])
    }

    @Test(arguments: [
        "a", "orders.internal", String(repeating: "a.", count: 40) + "test",
        String(repeating: "a.", count: 60) + "test",
    ])
    func `a host of any length finds only its own channel`(
        host: String
    ) throws {
        let configuration = try ConfigurationLoader.load(
            text: """
                channels:
                  first: { upstream: 'https://one.test', match: { hosts: [\(host)] } }
                  second: { upstream: 'https://two.test', match: { path: / } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let router = Router(configuration.channels)
        for (name, channel) in [(host, "first"), ("b" + host.dropFirst(), "second")] {
            var decoder = RequestHeadDecoder()
            let bytes = Array("GET /x HTTP/1.1\r\nHost: \(name)\r\n\r\n".utf8)
            let head = try #require(try decoder.decode(bytes.span)).head
            let route = try router.route(head, dedicated: nil)
            #expect(configuration.channels[route.channel].name == channel)
            #expect(router.isChannelHost(name) == (channel == "first"))
        }
    }

    @Test(arguments: [
        ("drive.googleapis.com", "all"), ("a.b.googleapis.com", "all"),
        ("mail.googleapis.com", "mail"), ("x.mail.googleapis.com", "below"),
        ("googleapis.com", "root"), ("xgoogleapis.com", "root"), ("www.googleapis.com", "all"),
    ])
    func `a pattern matches the names below it, and an exact name takes precedence`(
        host: String,
        channel: String
    ) throws {
        let configuration = try ConfigurationLoader.load(
            text: """
                channels:
                  all: { upstream: 'https://www.googleapis.com', match: { hosts: ['*.googleapis.com'] } }
                  below: { upstream: 'https://b.test', match: { hosts: ['*.mail.googleapis.com'] } }
                  mail: { upstream: 'https://m.test', match: { hosts: [mail.googleapis.com] } }
                  root: { upstream: 'https://r.test', match: { path: / } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let router = Router(configuration.channels)
        for target in ["/x", "http://\(host)/x"] where target == "/x" || channel != "root" {
            var decoder = RequestHeadDecoder()
            let bytes = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
            let head = try #require(try decoder.decode(bytes.span)).head
            let route = try router.route(head, dedicated: nil)
            #expect(configuration.channels[route.channel].name == channel)
        }
        #expect(router.isChannelHost(host) == (channel != "root"))
    }

    @Test(arguments: [("192.0.2.7", "first"), ("192.0.2.8", "second")])
    func `a host may be an IP address`(host: String, channel: String) throws {
        let configuration = try ConfigurationLoader.load(
            text: """
                channels:
                  first: { upstream: 'https://one.test', match: { hosts: [192.0.2.7] } }
                  second: { upstream: 'https://two.test', match: { path: / } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        var decoder = RequestHeadDecoder()
        let bytes = Array("GET /x HTTP/1.1\r\nHost: \(host):8080\r\n\r\n".utf8)
        let head = try #require(try decoder.decode(bytes.span)).head
        let route = try Router(configuration.channels).route(head, dedicated: nil)
        #expect(configuration.channels[route.channel].name == channel)
    }

    /// The upstream target of `/v1/x` on a channel's own listener.
    @Test(arguments: [
        ("api.test:8443", "/v1/x"), ("api.test", "/v1/x"), ("api.test:1", "/v1/v1/x"),
        ("other.test", "/v1/v1/x"), ("elsewhere.test", "/v1/v1/x"),
    ])
    func `the path stays unchanged if the authority is the upstream's name`(
        authority: String,
        target: String
    ) throws {
        let text = "GET http://\(authority)/v1/x HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
        var decoder = RequestHeadDecoder()
        let head = try #require(try decoder.decode(Array(text.utf8).span)).head
        let configuration = try ConfigurationLoader.load(
            text: """
                channels:
                  own: { upstream: 'https://api.test:8443/v1' }
                  other: { upstream: 'https://other.test/v1' }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let route = try Router(configuration.channels).route(head, dedicated: "own")
        #expect(route.channel == 0)
        #expect(route.target == target)
    }
}
