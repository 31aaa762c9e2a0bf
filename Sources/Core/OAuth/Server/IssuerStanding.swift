import NetworkCore

/// The origin of netproxy's knowledge of an authorization server, which limits its metadata.
package enum IssuerStanding: Sendable {
    /// The configuration names it.
    case configured
    /// A protected resource named it, and a user trusted it.
    case pinned
    /// A protected resource names it. Its metadata may spell a root issuer with or without the slash.
    case named

    /// Whether a document may name this issuer in place of the expected one.
    func accepts(_ issuer: String, for expected: String) -> Bool {
        issuer == expected || self == .named && issuer.isSameIssuer(expected)
    }

    /// Refuses an endpoint on this machine or its networks, or without TLS, if only the server itself
    /// vouches for it.
    ///
    /// `http` is allowed only on the issuer's own origin, if it is allowed for the issuer. A server on
    /// this machine may name any endpoint.
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
