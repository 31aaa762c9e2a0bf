import NetproxySettings
import Testing

@testable import NetproxyConfig

/// Tests of the defaults of a minimal configuration.
@Suite struct DefaultTests {
    private static let configuration = Result {
        try load("channels: { a: { upstream: https://a.example } }")
    }

    @Test func `the process has the documented defaults`() throws {
        let configuration = try Self.configuration.get()
        #expect(configuration.listen == [.tcp(HostPort(host: "127.0.0.1", port: 8080))])
        #expect(!configuration.allowRemote)
        #expect(configuration.workers == .auto)
        #expect(configuration.busyPoll == .auto)
        #expect(configuration.drain == .seconds(30))
        #expect(configuration.unmatched == .deny)
        #expect(configuration.connect.isEmpty)
        #expect(configuration.stateKeys == [])
        #expect(
            configuration.limits
                == ProxyConfiguration.Limits(
                    headerSize: .kibibytes(16),
                    headerCount: 100,
                    targetSize: .kibibytes(8),
                    connections: 4096,
                    headTimeout: .seconds(10),
                    http2: .init(streams: 128)
                )
        )
        #expect(configuration.log.output == .file)
        #expect(configuration.log.format == .json)
        #expect(configuration.log.rotate == .init(size: .mebibytes(64), keep: 5))
    }

    @Test func `a channel has the documented defaults`() throws {
        let channel = try #require(try Self.configuration.get().channels.first)
        #expect(
            channel.match == .init(path: "/a", hosts: ["a.localhost"], listen: nil, strip: .remove)
        )
        #expect(
            channel.log
                == .init(subsystem: "netproxy.a", category: "network", query: .keys, headers: [])
        )
        #expect(channel.headers == HeaderRules(defaults: [], set: [], remove: []))
        #expect(channel.trace == .pass)
        #expect(channel.authentication == .none)
        #expect(channel.onClientCredential == .replace)
        #expect(!channel.allowInsecure)
        #expect(
            channel.retry
                == .init(
                    unauthorized: true,
                    replayBody: .kibibytes(64),
                    spill: nil,
                    attempts: 2,
                    status: [502, 503, 504],
                    backoff: .init(base: .milliseconds(100), max: .seconds(2)),
                    budget: Percentage(20)
                )
        )
        #expect(
            channel.timeouts
                == .init(
                    connect: .seconds(10),
                    response: .seconds(600),
                    idle: .seconds(600),
                    total: nil
                )
        )
        #expect(
            channel.pool
                == .init(connections: 128, idle: .seconds(90), queue: 1024, wait: .seconds(5))
        )
        #expect(
            channel.access
                == .init(hosts: [], origins: [], users: [], key: nil, methods: [], paths: [])
        )
        #expect(channel.tls.pins.isEmpty && channel.tls.pinMode == .enforce)
        #expect(channel.tls.minimum == .v1_2)
        #expect(channel.proxy == nil && channel.stub == nil)
    }

    @Test func `OAuth defaults to Basic and a refresh five minutes before expiry`() throws {
        let line =
            "auth: { oauth: { token_url: https://l.example/t, client_id: a, client_secret: env:S } }"
        guard let settings = try channel(line).credentials.first?.oauth else {
            Issue.record("no OAuth")
            return
        }
        #expect(settings.grant == .clientCredentials)
        #expect(settings.clientAuthentication == .basic)
        #expect(settings.refreshBefore == .seconds(300))
        #expect(settings.scopes.isEmpty && settings.redirect == .standard)
    }
}
