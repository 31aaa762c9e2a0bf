import NetworkCore
import TestSupport
import Testing

@Suite struct DefaultHeaders {
    @Test(arguments: [
        ([], ["netproxy"]), (["app"], ["app"]), (["one", "two"], ["one", "two"]), ([""], [""]),
    ])
    func `a default applies only to a missing field`(_ sent: [String], _ arrived: [String])
        async throws
    {
        let editor = DefaultHeadersInterceptor(defaults: [.userAgent: "netproxy"])
        #expect(try await values(of: .userAgent, sent: sent, through: editor) == arrived)
    }

    @Test(arguments: [[], ["app"], ["one", "two", "three"]])
    func `a replacement replaces all lines of a field`(_ sent: [String]) async throws {
        let editor = DefaultHeadersInterceptor(replacements: [.accept: "text/plain"])
        #expect(try await values(of: .accept, sent: sent, through: editor) == ["text/plain"])
    }

    @Test(arguments: [[], ["app"], ["one", "two", "three"]])
    func `a removal removes all lines of a field`(_ sent: [String]) async throws {
        let editor = DefaultHeadersInterceptor(removed: [.cookie])
        #expect(try await values(of: .cookie, sent: sent, through: editor) == [])
    }

    @Test(arguments: [[], [HTTPFieldName.accept], ["X-One"], [.userAgent, "X-Two"]])
    func `missing fields are added in the order of the defaults`(_ sent: [HTTPFieldName])
        async throws
    {
        let names: [HTTPFieldName] = [.userAgent, "X-One", .accept, "X-Two"]
        var defaults: HTTPHeaders = [:]
        for name in names { defaults.append(field(name, "ours")) }
        defaults.append(field("x-one", "second"))
        let editor = DefaultHeadersInterceptor(defaults: defaults)
        var headers: HTTPHeaders = [.host: "app", "X-Other": "app"]
        for name in sent { headers.append(field(name, "app")) }
        let upstream = Upstream { _, _ in Response(status: 200) }
        _ = try await RequestChain([editor], transport: upstream)
            .exchange(.forTests(headers: headers))
        for name in names where !sent.contains(name) { headers.append(field(name, "ours")) }
        #expect(try #require(upstream.arrived.first).request.headers == headers)
    }

    @Test func `the defaults of one request do not affect the next`() async throws {
        let editor = DefaultHeadersInterceptor(defaults: [.userAgent: "ours"])
        let upstream = Upstream { _, _ in Response(status: 200) }
        let chain = RequestChain([editor], transport: upstream)
        for tenant in ["a", "b"] {
            _ = try await chain.exchange(.forTests(headers: ["X-Tenant": tenant]))
        }
        _ = try await chain.exchange(.forTests(headers: [:]))
        let arrived = upstream.arrived.map(\.request.headers)
        #expect(
            arrived == [
                ["X-Tenant": "a", .userAgent: "ours"], ["X-Tenant": "b", .userAgent: "ours"],
                [.userAgent: "ours"],
            ]
        )
    }

    @Test func `a removed field may get a default`() async throws {
        let editor = DefaultHeadersInterceptor(
            defaults: [.userAgent: "ours"],
            removed: [.userAgent]
        )
        #expect(try await values(of: .userAgent, sent: ["app"], through: editor) == ["ours"])
    }

    @Test func `a replacement wins over a default and a removal`() async throws {
        let editor = DefaultHeadersInterceptor(
            defaults: ["X-Tenant": "default"],
            replacements: ["X-Tenant": "set"],
            removed: ["X-Tenant"]
        )
        #expect(try await values(of: "X-Tenant", sent: ["app"], through: editor) == ["set"])
    }

    @Test func `names match in any case`() async throws {
        let editor = DefaultHeadersInterceptor(
            defaults: ["x-default": "ours"],
            replacements: ["x-set": "ours"],
            removed: ["x-removed"]
        )
        let upstream = Upstream { _, _ in Response(status: 200) }
        let headers: HTTPHeaders = ["X-Default": "app", "X-Set": "app", "X-Removed": "app"]
        _ = try await RequestChain([editor], transport: upstream)
            .exchange(.forTests(headers: headers))
        let arrived = try #require(upstream.arrived.first).request.headers
        #expect(arrived.values(of: "X-Default") == ["app"])
        #expect(arrived.values(of: "X-Set") == ["ours"])
        #expect(arrived.values(of: "X-Removed") == [])
    }

    @Test func `other fields are unchanged`() async throws {
        let editor = DefaultHeadersInterceptor(
            defaults: [.userAgent: "ours"],
            replacements: [.accept: "ours"],
            removed: [.cookie]
        )
        #expect(try await values(of: "X-Other", sent: ["b", "a"], through: editor) == ["b", "a"])
    }

    @Test func `an editor with nothing to edit is idle`() {
        #expect(DefaultHeadersInterceptor().isIdle)
        #expect(!DefaultHeadersInterceptor(defaults: [.accept: "x"]).isIdle)
        #expect(!DefaultHeadersInterceptor(replacements: [.accept: "x"]).isIdle)
        #expect(!DefaultHeadersInterceptor(removed: [.accept]).isIdle)
    }

    /// Returns the lines of a field that arrive if the client sends `sent`.
    private func values(
        of name: HTTPFieldName,
        sent: [String],
        through editor: DefaultHeadersInterceptor
    ) async throws -> [String] {
        var headers: HTTPHeaders = ["X-First": "1"]
        for value in sent { headers.append(field(name, value)) }
        let upstream = Upstream { _, _ in Response(status: 200) }
        _ = try await RequestChain([editor], transport: upstream)
            .exchange(.forTests(headers: headers))
        return try #require(upstream.arrived.first).request.headers.values(of: name)
    }

    private func field(_ name: HTTPFieldName, _ value: String) -> HTTPField {
        HTTPField(validated: name, value)
    }
}
