/// The treatment of a request that already has a value in the credential's place.
package enum ClientCredentialPolicy: String, Sendable, CaseIterable {
    /// The channel's credential replaces it.
    case replace
    /// The client's credential is sent unchanged, without the channel's.
    case keep
    /// The request is refused (403).
    case reject
}

/// The `Host` of requests to an upstream.
package enum SentHost: Sendable, Hashable {
    /// The origin's authority.
    case upstream
    /// The `Host` of the client's request, if it has one.
    case app
    /// A name with or without a port.
    case name(String)
}

/// The client's authentication at an authorization server (RFC 6749 §2.3.1).
///
/// Explicit, never probed: a wrong guess could spend the refresh token.
public enum ClientAuthentication: String, Sendable, CaseIterable {
    /// HTTP Basic, with id and secret form-encoded first (RFC 6749 §2.3.1).
    case basic
    /// HTTP Basic without that encoding, for servers that do not decode it.
    case basicRaw = "basic_raw"
    /// `client_id` and `client_secret` in the form.
    case post
    /// A client assertion (RFC 7523 §2.2), signed with the client's key.
    case privateKeyJWT = "private_key_jwt"
    /// The certificate of the connection (RFC 8705 §2); `client_id` in the form.
    case tls
    /// `client_id` alone: a public client.
    case none
}

/// The versions of HTTP that connections to an upstream may use.
@nonexhaustive
public enum HTTPVersions: String, Sendable, Hashable, CaseIterable {
    /// HTTP/2 or HTTP/1.1 with TLS, as the origin chooses (ALPN, RFC 7301); HTTP/1.1 without TLS.
    case automatic = "auto"
    /// HTTP/1.1.
    case http1
    /// HTTP/2 only: by ALPN with TLS, by prior knowledge without (RFC 9113 §3.3).
    case http2
    /// HTTP/2 only, without ALPN: by prior knowledge over TLS as well.
    case http2PriorKnowledge = "http2-prior"
}
