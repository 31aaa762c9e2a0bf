package import NetproxyConfig
import NetproxyEventIO
package import NetproxyHTTPMessage
import NetproxySettings
package import NetworkCore
package import OAuth
package import OriginTransport

extension UpstreamOptions {
    /// Creates the options of a channel's connections, which all its pools share.
    package init(_ channel: ChannelConfiguration, proxy: ParentProxy?) {
        self.init()
        timeSettings = .channel
        connectTimeout = channel.timeouts.connect
        responseTimeout = channel.timeouts.response
        idleTimeout = channel.timeouts.idle
        tls = channel.tls
        versions = channel.versions
        self.proxy = proxy
    }
}

extension ChannelConfiguration {
    /// Whether the channel adds to requests a credential that a client could not send itself.
    ///
    /// This is the channel's credential, a secret field, or a client certificate.
    package var hasCredential: Bool {
        !credentials.isEmpty || !headers.secrets.isEmpty || proxy?.login != nil
            || tls.clientCertificate != nil
            || (headers.set + headers.defaults).contains { field in
                HTTPFieldName(field.name)?.holdsCredential == true
            }
    }

    /// The credentials that `headers` contains without a reference to a secret.
    var writtenCredentials: [Secret] {
        (headers.set + headers.defaults).flatMap { field -> [Secret] in
            guard let name = HTTPFieldName(field.name), name.holdsCredential else { return [] }
            return Credential(name, Secret(field.value))?.secrets ?? []
        }
    }

    /// The fields with credentials of the channel.
    ///
    /// No client may nominate them for removal, and their values are never shown.
    package var credentialFields: [HTTPFieldName] {
        var names = headers.secrets.map(\.name)
        if let name = placement?.fieldName, HTTPFieldName(name) != .authorization {
            names.append(name)
        }
        return names.compactMap { HTTPFieldName($0) }
    }

    /// The place of the credential; `nil` without one.
    package var credentialPlace: CredentialPlace? {
        switch placement {
        case .header(let name, let prefix):
            HTTPFieldName(name).map { .header($0, prefix: prefix) }
        case .query(let name, let prefix): .query(name, prefix: prefix)
        case .path(let prefix):
            // A stub has no upstream, and so no place.
            PathTemplate(upstreams.first?.basePath ?? "").map { .path(in: $0, prefix: prefix) }
        case nil: nil
        }
    }

    /// The base URL of requests: the URL of the resource.
    package var endpoint: ServerEndpoint {
        guard let first = upstreams.first else { return "" }
        return ServerEndpoint(
            origin: first.origin,
            target: first.basePath.isEmpty ? "/" : first.basePath
        )
    }
}

extension CredentialConfiguration {
    /// The user's action to sign in.
    ///
    /// If neither a sign-in page nor a device endpoint is known, the user can only replace the refresh
    /// token in the configuration.
    package var signIn: String {
        if let settings = oauth, settings.refreshToken != nil, settings.issuer == nil,
            settings.authorizationURL == nil, settings.deviceURL == nil
        {
            return
                "put another token in the place that \(owner.key("oauth.refresh_token")) names, then netproxy reload"
        }
        return "netproxy login \(name)"
    }
}
