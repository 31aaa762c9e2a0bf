import NetworkCore

/// The metadata by which an app would sign in past netproxy, where netproxy signs in itself.
enum HiddenMetadata {
    /// The well-known places of a protected resource (RFC 9728 §3) and of its authorization server
    /// (RFC 8414 §3, OpenID Connect Discovery §4), which older clients look for at the resource.
    private static let places = [
        "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ]

    /// Refuses a request for such metadata.
    ///
    /// - Parameter target: the upstream request's.
    /// - Throws: `http_request_denied` with 404, as of a resource that is not protected.
    static func check(_ target: String) throws(NetworkError) {
        let path = TargetPath(target).path
        guard let mark = path.firstRange(of: "/.well-known/") else { return }
        let rest = path[mark.lowerBound...]
        guard places.contains(where: { rest == $0 || rest.hasPrefix($0 + "/") }) else { return }
        throw NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail:
                "netproxy signs in to this API by itself (auth.oauth.discover); the app needs no "
                + "token and no sign-in",
            status: 404
        )
    }
}
