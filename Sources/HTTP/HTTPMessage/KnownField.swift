/// The field names that netproxy uses itself, as small integers.
///
/// One table for the whole package, with the duties of a proxy for each field.
package enum KnownField: UInt8, CaseIterable, Sendable {
    case host
    case connection
    case contentLength
    case transferEncoding
    case te
    case trailer
    case upgrade
    case keepAlive
    case proxyConnection
    case proxyAuthenticate
    case proxyAuthorization
    case proxyAuthenticationInfo
    case expect
    case authorization
    case cookie
    case setCookie
    case via
    case maxForwards
    case xRequestId
    case traceparent
    case tracestate
    case userAgent
    case accept
    case acceptEncoding
    case acceptLanguage
    case contentType
    case contentEncoding
    case contentLanguage
    case contentLocation
    case contentRange
    case contentDisposition
    case date
    case server
    case wwwAuthenticate
    case location
    case retryAfter
    case origin
    case referer
    case secFetchSite
    case secFetchMode
    case secFetchDest
    case secWebsocketKey
    case http2Settings
    case cacheControl
    case etag
    case lastModified
    case ifNoneMatch
    case ifMatch
    case ifModifiedSince
    case ifRange
    case range
    case acceptRanges
    case vary
    case age
    case expires
    case proxyStatus
    case link
    case forwarded
    case xForwardedFor
    case xForwardedHost
    case xForwardedProto
    case dpop
    case dpopNonce
    case allow

    /// The name in its usual spelling.
    package var text: String {
        switch self {
        case .host: "Host"
        case .connection: "Connection"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .te: "TE"
        case .trailer: "Trailer"
        case .upgrade: "Upgrade"
        case .keepAlive: "Keep-Alive"
        case .proxyConnection: "Proxy-Connection"
        case .proxyAuthenticate: "Proxy-Authenticate"
        case .proxyAuthorization: "Proxy-Authorization"
        case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
        case .expect: "Expect"
        case .authorization: "Authorization"
        case .cookie: "Cookie"
        case .setCookie: "Set-Cookie"
        case .via: "Via"
        case .maxForwards: "Max-Forwards"
        case .xRequestId: "X-Request-Id"
        case .traceparent: "traceparent"
        case .tracestate: "tracestate"
        case .userAgent: "User-Agent"
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .acceptLanguage: "Accept-Language"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .contentLanguage: "Content-Language"
        case .contentLocation: "Content-Location"
        case .contentRange: "Content-Range"
        case .contentDisposition: "Content-Disposition"
        case .date: "Date"
        case .server: "Server"
        case .wwwAuthenticate: "WWW-Authenticate"
        case .location: "Location"
        case .retryAfter: "Retry-After"
        case .origin: "Origin"
        case .referer: "Referer"
        case .secFetchSite: "Sec-Fetch-Site"
        case .secFetchMode: "Sec-Fetch-Mode"
        case .secFetchDest: "Sec-Fetch-Dest"
        case .secWebsocketKey: "Sec-WebSocket-Key"
        case .http2Settings: "HTTP2-Settings"
        case .cacheControl: "Cache-Control"
        case .etag: "ETag"
        case .lastModified: "Last-Modified"
        case .ifNoneMatch: "If-None-Match"
        case .ifMatch: "If-Match"
        case .ifModifiedSince: "If-Modified-Since"
        case .ifRange: "If-Range"
        case .range: "Range"
        case .acceptRanges: "Accept-Ranges"
        case .vary: "Vary"
        case .age: "Age"
        case .expires: "Expires"
        case .proxyStatus: "Proxy-Status"
        case .link: "Link"
        case .forwarded: "Forwarded"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedHost: "X-Forwarded-Host"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .dpop: "DPoP"
        case .dpopNonce: "DPoP-Nonce"
        case .allow: "Allow"
        }
    }

    /// Whether the field is for the next hop only (RFC 9110 §7.6.1), or concerns a feature that netproxy does
    /// not forward.
    ///
    /// `Transfer-Encoding` is rebuilt from the framing. `Trailer` stays, because response trailers are
    /// forwarded.
    package var isHopByHop: Bool {
        switch self {
        case .connection, .te, .transferEncoding, .upgrade, .keepAlive, .proxyConnection,
            .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo, .http2Settings:
            true
        default: false
        }
    }

    /// Whether `Connection` may not nominate the field for removal.
    ///
    /// By nominating `Authorization`, a client could make the next hop drop the credential that netproxy
    /// adds.
    package var isProtected: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .authorization, .cookie, .connection: true
        default: false
        }
    }
}
