import NetproxyConfig
import NetproxyHTTPMessage
import Testing

@testable import NetproxyPath

/// The translation of an upstream's references to itself into the client's names.
@Suite struct DownstreamViewTests {
    private func names(_ keys: String) throws -> UpstreamNames {
        let text = "channels: { a: { \(keys) } }"
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "test.yaml",
            environment: ["HOME": "/home/x"]
        )
        .get()
        return UpstreamNames(configuration.channels[0])
    }

    private func lead(
        _ reference: String,
        upstream: String = "upstream: 'https://api.example/v1'",
        app: String = "/orders/a/b",
        asked: String = "/v1/a/b",
        authority: String = "127.0.0.1:8080"
    ) throws -> DownstreamView.Lead {
        let view = try #require(
            DownstreamView(
                try names(upstream),
                answering: nil,
                authority: Authority(authority),
                appTarget: app,
                upstreamTarget: asked
            )
        )
        return view.lead(reference[...])
    }

    @Test(
        arguments: [
            ("https://api.example/v1/new", .upstream("http://127.0.0.1:8080/orders/new")),
            ("https://API.example:443/v1?x=1#y", .upstream("http://127.0.0.1:8080/orders?x=1#y")),
            ("http://api.example/v1/new", .upstream("http://127.0.0.1:8080/orders/new")),
            ("//api.example/v1/new", .upstream("//127.0.0.1:8080/orders/new")),
            ("/v1/new?a=/v1", .upstream("/orders/new?a=/v1")), ("/v1", .upstream("/orders")),
            ("new", .here), ("?page=2", .here), ("#top", .here), ("", .here), ("mailto:a@b", .here),
            ("../c", .upstream("/orders/c")), ("../../../v1/x", .upstream("/orders/x")),
            ("../../v2/x", .elsewhere), ("http://127.0.0.1:8080/orders/x", .here),
            ("https://api.example/v2/new", .elsewhere), ("/v10", .elsewhere), ("/", .elsewhere),
            ("https://api.example:8443/v1/new", .elsewhere),
            ("https://evil.example/v1/new", .elsewhere),
            ("https://api.example@evil.example/v1/new", .elsewhere),
            ("https://api.example.evil.example/v1", .elsewhere), ("http:/v1/x", .elsewhere),
        ] as [(String, DownstreamView.Lead)]
    )
    func `a reference to the upstream itself is translated`(
        reference: String,
        lead: DownstreamView.Lead
    ) throws {
        #expect(try self.lead(reference) == lead)
    }

    @Test func `paths have no prefix on a channel's own host`() throws {
        let found = try ["https://api.example/v1/new", "/v1", "/v1/"].map {
            try lead($0, app: "/a/b", authority: "orders.localhost:8080")
        }
        #expect(
            found == [
                .upstream("http://orders.localhost:8080/new"), .upstream("/"), .upstream("/"),
            ]
        )
    }

    @Test func `for a client that uses netproxy as a proxy, only the scheme changes`() throws {
        func lead(_ reference: String) throws -> DownstreamView.Lead {
            try self.lead(reference, app: "/v1/a/b", authority: "api.example")
        }
        #expect(try lead("https://api.example/v1/x") == .upstream("http://api.example/v1/x"))
        #expect(try lead("http://api.example/v1/x") == .here)
        #expect(try lead("/v1/x") == .here)
        #expect(try lead("/login") == .elsewhere)
    }

    @Test func `the configured Host is also a name of the upstream`() throws {
        func lead(_ reference: String, _ host: String) throws -> DownstreamView.Lead {
            try self.lead(
                reference,
                upstream: "upstream: 'https://10.0.0.1:8443/v1', host: \(host)"
            )
        }
        let mapped = DownstreamView.Lead.upstream("http://127.0.0.1:8080/orders/x")
        #expect(try lead("https://api.internal/v1/x", "api.internal") == mapped)
        #expect(try lead("https://api.internal/v1/x", "upstream") == .elsewhere)
        #expect(try lead("http://127.0.0.1:8080/v1/x", "app") == mapped)
    }

    @Test func `a credential in the path is translated with it`() throws {
        func lead(_ reference: String, app: String) throws -> DownstreamView.Lead {
            try self.lead(
                reference,
                upstream:
                    "upstream: 'https://api.example/bot{credential}', auth: { bearer: 'literal:x', in: path }",
                app: app,
                asked: "/bot{credential}/a"
            )
        }
        let reference = "https://api.example/bots3cret/new"
        #expect(
            try lead(reference, app: "/chat/a") == .upstream("http://127.0.0.1:8080/chat/new")
        )
        #expect(
            try lead(reference, app: "/chat/botmine/a")
                == .upstream("http://127.0.0.1:8080/chat/botmine/new")
        )
    }

    @Test func `an empty path after the prefix means the base path`() throws {
        let upstream = "upstream: 'https://api.example'"
        let found = try lead("/new", upstream: upstream, app: "/orders?x", asked: "/?x")
        #expect(found == .upstream("/orders/new"))
    }
}
