import NetworkCore

/// How netproxy knows an authorization server, and so what its metadata may say.
package enum IssuerStanding: Sendable {
    /// The configuration names it.
    case configured
    /// A protected resource named it, and a user trusted it.
    case pinned
    /// A protected resource names it. Its metadata may spell a root issuer with or without the slash.
    case named

    /// Whether a document may name this issuer where another one is expected.
    func accepts(_ issuer: String, for expected: String) -> Bool {
        issuer == expected || self == .named && issuer.isSameIssuer(expected)
    }

    /// Refuses an endpoint that only the server itself vouches for, on this machine or its networks, or
    /// without TLS.
    ///
    /// Only on the issuer's own origin is `http` what was allowed for the issuer. On this machine any
    /// endpoint may be named by a server on this machine.
    ///
    /// - Throws: `MetadataError`.
    func check(
        _ endpoint: ServerEndpoint,
        _ name: String,
        of issuer: String
    ) throws(MetadataError) {
        guard self != .configured, let server = ServerEndpoint(issuer)?.origin,
            !NamedHost.isOfThisMachine(server.host)
        else { return }
        let place = "the \(name) in the metadata for \(issuer), \(endpoint),"
        guard NamedHost.may(server, name: endpoint.origin) else {
            throw MetadataError(
                "\(place) is on this machine or its networks, which no server elsewhere may name"
            )
        }
        guard endpoint.origin.scheme == .https || endpoint.origin == server else {
            throw MetadataError("\(place) is not https")
        }
    }
}
