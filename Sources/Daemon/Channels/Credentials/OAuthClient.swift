package import NetproxyConfig
import NetproxyHTTPMessage
package import NetproxyPath
import NetproxySettings
import NetworkCore
package import OAuth
import OriginTransport

/// The OAuth client of a channel, with its settings and its connection to the authorization server.
package struct OAuthClient: Sendable {
    package let settings: OAuthSettings
    package let configuration: OAuthConfiguration
    package let service: any OAuthService
    package let transport: OwnRequests
    package let store: any TokenStoring
    /// The server's metadata; `nil` if only URLs are configured.
    let metadata: MetadataDirectory?

    /// Returns the server's endpoints: the configured ones, and the others from its metadata.
    ///
    /// - Throws: `MetadataError` if the required endpoint is neither configured nor in the metadata.
    package func server(needing needed: KeyPath<ServerMetadata, ServerEndpoint?>) async throws
        -> ServerMetadata
    {
        var server = ServerMetadata(issuer: settings.issuer)
        var failure: MetadataError?
        if let metadata {
            do throws(MetadataError) {
                server = try await metadata.metadata()
            } catch {
                failure = error
            }
        }
        // RFC 8705 §5: clients with a certificate use the aliases, if any.
        if settings.clientAuthentication == .tls {
            server.deviceEndpoint = server.certificateDeviceEndpoint ?? server.deviceEndpoint
            server.revocationEndpoint =
                server.certificateRevocationEndpoint ?? server.revocationEndpoint
            server.pushedEndpoint = server.certificatePushedEndpoint ?? server.pushedEndpoint
        }
        func configured(_ url: EndpointURL?, _ found: ServerEndpoint?) -> ServerEndpoint? {
            url.map(ServerEndpoint.init) ?? found
        }
        server.authorizationEndpoint =
            configured(settings.authorizationURL, server.authorizationEndpoint)
        server.deviceEndpoint = configured(settings.deviceURL, server.deviceEndpoint)
        server.revocationEndpoint = configured(settings.revocationURL, server.revocationEndpoint)
        server.pushedEndpoint = configured(settings.pushedURL, server.pushedEndpoint)
        if settings.pushedURL != nil { server.requiresPushedRequests = true }
        if let failure, server[keyPath: needed] == nil { throw failure }
        return server
    }
}

extension ServerEndpoint {
    /// Creates an endpoint from a URL of the configuration.
    package init(_ url: EndpointURL) {
        self.init(origin: url.origin, target: url.target)
    }
}

extension OAuthConfiguration {
    /// Creates the configuration of a credential, without its secrets.
    init(
        _ settings: OAuthSettings,
        of credential: CredentialConfiguration,
        at server: ServerEndpoint,
        grant: Grant
    ) {
        self.init(
            tokenEndpoint: server,
            clientID: settings.clientID,
            clientAuthentication: settings.clientAuthentication,
            grant: grant,
            scopes: settings.scopes,
            audience: settings.audience
        )
        resources = settings.resources
        narrowsScope = credential.isNarrowed
        issuer = settings.issuer
        parameters = settings.parameters.map { FormParameter($0.name, $0.value) }
        authorizationParameters = settings.authorizationParameters.map {
            FormParameter($0.name, $0.value)
        }
        use = settings.use == .idToken ? .idToken : .accessToken
        refreshBefore = settings.refreshBefore
        allowsInsecure = credential.allowInsecure
    }
}
