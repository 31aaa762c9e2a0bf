import NetproxyConfig
import NetproxyHTTPMessage
import TestSupport
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

    @Test(
        arguments: [
            ("/v1//evil.example/x", .upstream("//a.localhost:8080//evil.example/x")),
            (
                "https://api.example/v1//evil.example",
                .upstream("http://a.localhost:8080//evil.example")
            ),
            ("/v1/\\evil.example", .elsewhere), ("/v1/\t/evil.example", .elsewhere),
            ("/v1/../v2/x", .elsewhere), ("/v1/x/../y", .upstream("/y")),
            ("/v1/%2e%2e/v2", .elsewhere),
            ("%2e%2e/%2e%2e/x", .elsewhere), ("../c.", .upstream("/c.")),
            ("./x", .upstream("/a/x")),
            ("\\\\evil.example", .elsewhere), ("ht\ttps://evil.example/../../v1/y", .elsewhere),
        ] as [(String, DownstreamView.Lead)]
    )
    func `a link never leads to another host or another channel`(
        reference: String,
        lead: DownstreamView.Lead
    ) throws {
        let found = try self.lead(reference, app: "/a/b", authority: "a.localhost:8080")
        #expect(found == lead)
    }

    @Test func `a rewritten link leads a client through netproxy to the same resource`() throws {
        var random = SplitMix64(seed: 1)
        let pieces = [
            "/", "/", "//", ".", "..", "../", "%2e", "x", "v1", "a", "b", "?q", "#f", ":", "http:",
            "https://api.example", "//api.example", "evil.example", "\\", "\t", "@", ";", "/v1",
            "/v1/",
        ]
        var rewritten = 0
        for _ in 0..<4000 {
            let base = ["", "/v1", "/a/b"].randomElement(using: &random) ?? ""
            let prefix = ["", "/orders"].randomElement(using: &random) ?? ""
            let rest = ["/", "/x", "/x/y", "/v1/a//b/"].randomElement(using: &random) ?? "/"
            let reference = (0...Int.random(in: 0...5, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            let found = try lead(
                reference,
                upstream: "upstream: 'https://api.example\(base)'",
                app: prefix + rest,
                asked: base + rest
            )
            guard case .upstream(let link) = found else { continue }
            rewritten += 1
            for client in Resolver.allCases {
                let original = client.resolve(
                    reference,
                    against: "https://api.example\(base)\(rest)"
                )
                let result = client.resolve(link, against: "http://127.0.0.1:8080\(prefix)\(rest)")
                let wanted = original.flatMap { original -> String? in
                    guard original.host == "api.example", original.path.hasPrefix(base) else {
                        return nil
                    }
                    let path = prefix + original.path.dropFirst(base.count)
                    return "127.0.0.1:8080 \(path.isEmpty ? "/" : path) \(original.rest)"
                }
                let reached = result.map { result -> String in
                    // The prefix alone is the root of an upstream without a base path.
                    let path = base.isEmpty && result.path == prefix ? prefix + "/" : result.path
                    return "\(result.host) \(path) \(result.rest)"
                }
                #expect(reached == wanted, "\(reference) → \(link), \(client), \(base)\(rest)")
            }
        }
        #expect(rewritten > 200)
    }

    @Test func `an empty path after the prefix means the base path`() throws {
        let upstream = "upstream: 'https://api.example'"
        let found = try lead("/new", upstream: upstream, app: "/orders?x", asked: "/?x")
        #expect(found == .upstream("/orders/new"))
    }
}

/// Two kinds of clients that resolve a reference.
private enum Resolver: CaseIterable {
    /// RFC 3986 §5.2.
    case strict
    /// WHATWG URL §4.4: without tabs, with backslashes as slashes and encoded dots as dots.
    case browser

    /// Returns the authority, the path, and the rest; `nil` for other schemes and URLs without an authority.
    func resolve(_ reference: String, against base: String) -> (
        host: String, path: String, rest: String
    )? {
        var text = reference[...]
        if self == .browser {
            text = text.filter { $0 != "\t" }[...]
            let end = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
            text = (text[..<end].replacing("\\", with: "/") + text[end...])[...]
        }
        let start = base.firstRange(of: "://").map { base[$0.upperBound...] } ?? ""
        var host = String(start.prefix { $0 != "/" })
        let basePath = String(start.dropFirst(host.count))
        let scheme = text.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
        if scheme.first?.isLetter == true, text[scheme.endIndex...].first == ":" {
            guard ["http", "https"].contains(scheme.lowercased()) else { return nil }
            text = text[scheme.endIndex...].dropFirst()
            guard text.hasPrefix("//") else { return nil }
        }
        var path = ""
        if text.hasPrefix("//") {
            host = String(text.dropFirst(2).prefix { !"/?#".contains($0) })
            text = text.dropFirst(2 + host.count)
            path = String(text.prefix { $0 != "?" && $0 != "#" })
        } else {
            path = String(text.prefix { $0 != "?" && $0 != "#" })
            if path.isEmpty { return (host, basePath, String(text)) }
            if !path.hasPrefix("/") {
                path = basePath[...(basePath.lastIndex(of: "/") ?? basePath.startIndex)] + path
            }
        }
        let rest = text.drop { $0 != "?" && $0 != "#" }
        return (host, path.isEmpty ? "/" : withoutDots(path), String(rest))
    }

    private func withoutDots(_ path: String) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let name =
                self == .browser
                ? segment.lowercased().replacing("%2e", with: ".") : String(segment)
            if name == ".." { _ = kept.popLast() } else if name != "." { kept.append(segment) }
            if index == segments.count - 1, name == ".." || name == "." { kept.append("") }
        }
        return "/" + kept.joined(separator: "/")
    }
}
