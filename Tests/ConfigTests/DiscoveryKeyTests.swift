import NetproxyConfig
import NetproxySettings
import Testing

/// Tests of a channel that discovers its authorization server from its upstream.
@Suite struct DiscoveryKeyTests {
    private func settings(_ oauth: String) throws -> OAuthSettings {
        let credential = try channel("auth: { oauth: { \(oauth) } }").credentials.first
        guard let settings = credential?.oauth else { throw Missing() }
        return settings
    }

    private struct Missing: Error {}

    @Test func `discover needs no other keys`() throws {
        let settings = try settings("discover: true")
        let discovery = try #require(settings.discovery)
        #expect(discovery.clientMetadataURL == nil)
        #expect(settings.grant == .authorizationCode)
        #expect(settings.clientID.isEmpty)
        #expect(settings.clientAuthentication == .none)
    }

    @Test func `a client with a secret authenticates with it`() throws {
        let settings = try settings(
            "discover: true, issuer: https://l.example, client_id: a, client_secret: env:S"
        )
        #expect(settings.clientAuthentication == .basic)
        #expect(settings.issuer == "https://l.example")
        let other = try self.settings("discover: true, client_id: a")
        #expect(other.clientAuthentication == .none)
    }

    @Test func `the URL of a client metadata document is kept byte for byte`() throws {
        let url = "https://App.example.com/a.json"
        let settings = try settings(
            "discover: true, grant: device_code, client_metadata_url: '\(url)'"
        )
        #expect(settings.discovery?.clientMetadataURL == url)
        #expect(settings.grant == .deviceCode)
    }

    @Test func `discovery is disabled if discover is false`() throws {
        let settings = try settings(
            "discover: false, client_id: a, client_auth: none, issuer: https://login.example"
        )
        #expect(settings.discovery == nil)
        #expect(settings.grant == .clientCredentials)
    }
}
