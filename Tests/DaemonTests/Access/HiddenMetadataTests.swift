import NetworkCore
import OAuth
import Testing

@testable import NetproxyPath

/// The targets with which a client could sign in without netproxy.
@Suite struct HiddenMetadataTargets {
    private func isHidden(
        _ target: String,
        issuer: String = "https://api.example.com/as",
        at upstream: ServerEndpoint = "https://api.example.com/mcp"
    ) -> Bool {
        let server = PinnedServer(
            issuer: issuer,
            resource: "https://api.example.com/mcp",
            client: PinnedServer.Client(id: "c", kind: .registered),
            ownPaths: ["/as/token", "/as/%72egister"]
        )
        do {
            try HiddenMetadata(of: server, at: upstream).check(target)
            return false
        } catch {
            return error.kind == .httpRequestDenied
        }
    }

    @Test(arguments: [
        "/mcp/.well-known/oauth-protected-resource", "/.well-known/openid-configuration/x?y=1",
        "/%2ewell-known/oauth-authorization-server", "/.well-known/./oauth-protected-resource",
        "/.well%2Dknown//oauth%2dprotected-resource", "/.well-known/x/../openid-configuration",
        "/.well-known%2Fopenid-configuration", "/%252ewell-known/openid-configuration",
        "/.Well-Known/OpenID-Configuration", "/.well-known;a=b/openid-configuration;c",
        "/as/token", "/as/token?x=1", "/as/register", "/as/x/%2e%2e/token/",
    ])
    func `metadata and endpoints are hidden in every spelling`(_ target: String) {
        #expect(isHidden(target))
    }

    @Test(arguments: [
        "/mcp", "/mcp/token", "/token", "/register", "/authorize", "/as/tokens", "/as/token/x",
        "/.well-known/oauth-protected-resources", "/.well-known/security.txt", "/%zz", "/%",
    ])
    func `every other target belongs to the API`(_ target: String) {
        #expect(!isHidden(target))
    }

    @Test(arguments: ["/authorize", "/token", "/register?x"])
    func `the default endpoints are hidden at the root if the server and the API share an origin`(
        target: String
    ) {
        #expect(isHidden(target, at: "https://api.example.com/"))
        #expect(!isHidden(target, issuer: "https://a.example", at: "https://api.example.com/"))
    }
}
