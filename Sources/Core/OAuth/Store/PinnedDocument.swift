import NetworkCore

/// A pinned server as a token file has it.
struct PinnedDocument: Codable {
    var issuer: String
    var resource: String
    /// Absent if it is the resource's own metadata.
    var evidence: String?
    var client_id: String
    var client_kind: String
    var client_secret: String?
    var client_secret_expires_at: Double?
    var client_authentication: String
    var redirect: String?
    var client_scopes: [String]?
    var scopes: [String]
    var own_paths: [String]?

    init(_ server: PinnedServer) {
        issuer = server.issuer
        resource = server.resource
        evidence = server.evidence == .resource ? nil : server.evidence.rawValue
        client_id = server.client.id
        client_kind = server.client.kind.rawValue
        client_secret = server.client.secret?.reveal()
        client_secret_expires_at = server.client.secretExpiresAt?.secondsSinceEpoch
        client_authentication = server.client.authentication.rawValue
        redirect = server.client.redirect
        client_scopes = server.client.scopes.isEmpty ? nil : server.client.scopes
        scopes = server.scopes
        own_paths = server.ownPaths.isEmpty ? nil : server.ownPaths
    }

    /// The server; a client of a kind or with an authentication that this version does not know is to be
    /// registered again.
    var server: PinnedServer {
        let kind = PinnedServer.Client.Kind(rawValue: client_kind)
        let authentication = PinnedServer.Client.Authentication(rawValue: client_authentication)
        return PinnedServer(
            issuer: issuer,
            resource: resource,
            evidence: evidence.flatMap(PinnedServer.Evidence.init) ?? .resource,
            client: PinnedServer.Client(
                id: client_id,
                kind: authentication == nil ? .refused : kind ?? .refused,
                secret: client_secret.map { Secret($0) },
                secretExpiresAt: client_secret_expires_at.map { UnixTime(secondsSinceEpoch: $0) },
                authentication: authentication ?? .none,
                redirect: redirect,
                scopes: client_scopes ?? []
            ),
            scopes: scopes,
            ownPaths: own_paths ?? []
        )
    }
}
