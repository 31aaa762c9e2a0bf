import NetworkCore
import Testing

@testable import OAuth

/// The metadata of protected resources.
@Suite struct ProtectedResourceTests {
    private let place: ServerEndpoint = "https://mcp.example.com/.well-known/x"

    private func read(
        _ document: String,
        of upstream: ServerEndpoint = "https://mcp.example.com/v1/mcp",
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) throws -> ProtectedResource {
        try ProtectedResource(
            Array(document.utf8),
            of: upstream,
            from: place,
            plainHTTP: plainHTTP
        )
    }

    private func document(_ resource: String, _ servers: String...) -> String {
        let list = servers.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"resource":"\#(resource)","authorization_servers":[\#(list)]}"#
    }

    @Test func `the first https server is chosen, and the others are listed`() throws {
        let found = try read(
            document(
                "https://mcp.example.com/v1/mcp",
                "http://plain.example.com",
                "https://one.example.com/a",
                "https://two.example.com",
                "https://one.example.com/a"
            )
        )
        #expect(found.issuers == ["https://one.example.com/a", "https://two.example.com"])
        #expect(found.issuer(preferring: nil) == "https://one.example.com/a")
        #expect(found.issuer(preferring: "https://two.example.com/") == "https://two.example.com")
        #expect(found.issuer(preferring: "https://three.example.com") == found.issuers[0])
        #expect(found.otherIssuers(than: found.issuers[0]) == ["https://two.example.com"])
    }

    @Test(arguments: [
        "https://mcp.example.com/v1/mcp", "https://mcp.example.com/v1/mcp/",
        "https://mcp.example.com/v1", "https://mcp.example.com/v1/", "https://mcp.example.com",
        "https://mcp.example.com/", "https://MCP.example.com:443/v1",
    ])
    func `a resource covers its own URL and the paths below`(_ resource: String) throws {
        let found = try read(document(resource, "https://a.example.com"))
        // Byte for byte, as servers compare it.
        #expect(found.identifier == resource)
    }

    @Test(arguments: [
        "https://mcp.example.com/v1/mc", "https://mcp.example.com/v1/mcp/x",
        "https://mcp.example.com/V1", "https://mcp.example.com:444/v1/mcp",
        "http://mcp.example.com/v1/mcp", "https://mcp.example.com.evil.example/v1/mcp",
        "https://evil.example/v1/mcp", "https://mcp.example.com/v1/mcp?x=1",
        "https://mcp.example.com/v1/mcp#x", "https://user@mcp.example.com/v1/mcp",
        "https://mcp.example.com/v1/../v1", "https://mcp.example.com/%2e%2e", "mcp.example.com", "",
    ])
    func `another resource is refused, and both are shown`(_ resource: String) throws {
        let error = #expect(throws: MetadataError.self) {
            try read(document(resource, "https://a.example.com"))
        }
        let words = try #require(error?.description)
        #expect(words.contains("about the resource '\(resource)'"))
        #expect(words.contains("the upstream is https://mcp.example.com/v1/mcp"))
    }

    @Test func `a slash at the end of the upstream does not count`() throws {
        let found = try read(
            document("https://mcp.example.com/mcp", "https://a.example.com"),
            of: "https://mcp.example.com/mcp/"
        )
        #expect(found.identifier == "https://mcp.example.com/mcp")
    }

    @Test(arguments: [
        "http://plain.example.com", "https://a.example.com?x=1", "https://u:p@a.example.com",
        "http://127.0.0.1:9000", "http://localhost",
        "ftp://a.example.com", "https://a.example.com/#x", "a.example.com", "",
    ])
    func `a server that no one may trust is refused`(_ server: String) {
        let error = #expect(throws: MetadataError.self) {
            try read(document("https://mcp.example.com", server))
        }
        #expect(error?.description.contains("https URL") == true)
    }

    @Test func `a server without TLS is trusted on this machine, or if it is allowed`() throws {
        let local = document("http://localhost:8000/mcp", "http://127.0.0.1:9000")
        let found = try read(local, of: "http://localhost:8000/mcp")
        #expect(found.issuers == ["http://127.0.0.1:9000"])
        let plain = document("https://mcp.example.com", "http://plain.example.com")
        #expect(try read(plain, plainHTTP: .accepted).issuers == ["http://plain.example.com"])
    }

    @Test(arguments: [
        "http://127.0.0.1:9000", "https://127.0.0.1", "http://localhost.", "https://10.1.2.3",
        "https://[::ffff:169.254.169.254]", "https://login.localhost",
    ])
    func `no resource elsewhere names a server on this machine or its networks`(_ server: String) {
        let error = #expect(throws: MetadataError.self) {
            try read(document("https://mcp.example.com", server), plainHTTP: .accepted)
        }
        #expect(error?.description.contains("than this machine and its networks") == true)
    }

    @Test func `a resource may name a server on its own host`() throws {
        let found = try read(
            document("https://10.1.2.3/mcp", "https://10.1.2.3:8443", "https://10.1.2.4"),
            of: "https://10.1.2.3/mcp"
        )
        #expect(found.issuers == ["https://10.1.2.3:8443"])
    }

    @Test(arguments: [
        "", "null", "[]", "<html>", "{}", #"{"resource":7}"#,
        #"{"resource":"https://mcp.example.com","authorization_servers":"https://a"}"#,
        #"{"resource":"https://mcp.example.com","authorization_servers":[1]}"#,
    ])
    func `any other document is refused`(_ text: String) {
        #expect(throws: MetadataError.self) { try read(text) }
    }

    @Test(arguments: [
        #"{"resource":"https://mcp.example.com"}"#,
        #"{"resource":"https://mcp.example.com","authorization_servers":[]}"#,
    ])
    func `the error for a document without a server names the remedy`(_ text: String) {
        let error = #expect(throws: MetadataError.self) { try read(text) }
        #expect(error?.description.contains("set auth.oauth.issuer and client_id") == true)
    }

    @Test func `words that are not scopes are left out`() throws {
        let found = try read(
            #"""
            {"resource":"https://mcp.example.com","authorization_servers":["https://a.example.com"],
             "scopes_supported":["read","a b","\u001b[2J","wri\"te","mcp:tools"]}
            """#
        )
        #expect(found.scopes == ["read", "mcp:tools"])
    }

    @Test func `nothing that a document says can move the cursor`() {
        let error = #expect(throws: MetadataError.self) {
            try read(document(#"https://evil.example/\u001b[2J\u202e"#, "https://a.example.com"))
        }
        let words = error?.description.unicodeScalars ?? "".unicodeScalars
        #expect(words.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
    }

    @Test func `the well-known part comes before the path`() {
        #expect(
            ProtectedResource.places(of: "/v1/mcp") == [
                "/.well-known/oauth-protected-resource/v1/mcp",
                "/.well-known/oauth-protected-resource",
            ]
        )
        #expect(ProtectedResource.places(of: "/") == ["/.well-known/oauth-protected-resource"])
        #expect(
            ProtectedResource.places(of: "/mcp/?x=1") == [
                "/.well-known/oauth-protected-resource/mcp/",
                "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-protected-resource",
            ]
        )
    }

    @Test func `scopes unite, each once and in order`() {
        #expect(ScopeList.scopes(in: " b a  b c\"") == ["b", "a"])
        #expect(ScopeList.union(["a", "b"], ["c", "a"]) == ["a", "b", "c"])
    }
}
