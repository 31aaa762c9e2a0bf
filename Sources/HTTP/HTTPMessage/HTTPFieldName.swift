/// A field name (RFC 9110 §5.1): a token, compared ignoring case.
public struct HTTPFieldName: Sendable, Hashable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    package let known: KnownField?
    /// The name in its original spelling.
    public let text: String
    /// Whether the name has a byte other than letters, digits and hyphens, so that it can look like another
    /// name.
    let isUnusual: Bool
    /// Whether the field cannot be sent, because the name is not a token or the value was not valid.
    package let isUnfit: Bool

    /// Creates a name; returns `nil` if the text is not a token or exceeds 65,535 bytes.
    public init?(_ text: String) {
        guard Grammar.isToken(text), text.utf8.count <= Int(UInt16.max) else { return nil }
        self.text = text
        known = KnownFieldTable.lookup(text)
        isUnusual = known == nil && HTTPFieldName.isUnusual(text.utf8.span)
        isUnfit = false
    }

    /// Creates a name from a literal.
    ///
    /// A literal that is not a token does not trap: a request with it is refused when it is built or sent.
    public init(stringLiteral value: String) {
        self = HTTPFieldName(value) ?? HTTPFieldName(unfit: value)
    }

    package init(known: KnownField) {
        self.known = known
        text = known.text
        isUnusual = false
        isUnfit = false
    }

    /// Creates the name of a field that cannot be sent, truncated to 256 bytes.
    package init(unfit text: String) {
        self.text = String(decoding: text.utf8.prefix(256), as: UTF8.self)
        known = nil
        isUnusual = true
        isUnfit = true
    }

    /// Whether both name the same field.
    public static func == (left: HTTPFieldName, right: HTTPFieldName) -> Bool {
        if left.known != nil || right.known != nil { return left.known == right.known }
        return Grammar.equalIgnoringCase(left.text, right.text)
    }

    /// Hashes the name in lowercase.
    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(Grammar.lowercased(byte)) }
    }

    /// The name in its original spelling.
    public var description: String { text }
}

extension HTTPFieldName {
    /// `Host`.
    public static var host: HTTPFieldName { HTTPFieldName(known: .host) }
    /// `Connection`.
    public static var connection: HTTPFieldName { HTTPFieldName(known: .connection) }
    /// `Content-Length`.
    public static var contentLength: HTTPFieldName { HTTPFieldName(known: .contentLength) }
    /// `Transfer-Encoding`.
    public static var transferEncoding: HTTPFieldName { HTTPFieldName(known: .transferEncoding) }
    /// `TE`.
    public static var te: HTTPFieldName { HTTPFieldName(known: .te) }
    /// `Trailer`.
    public static var trailer: HTTPFieldName { HTTPFieldName(known: .trailer) }
    /// `Upgrade`.
    public static var upgrade: HTTPFieldName { HTTPFieldName(known: .upgrade) }
    /// `Keep-Alive`.
    public static var keepAlive: HTTPFieldName { HTTPFieldName(known: .keepAlive) }
    /// `Proxy-Connection`.
    public static var proxyConnection: HTTPFieldName { HTTPFieldName(known: .proxyConnection) }
    /// `Proxy-Authenticate`.
    public static var proxyAuthenticate: HTTPFieldName { HTTPFieldName(known: .proxyAuthenticate) }
    /// `Proxy-Authorization`.
    public static var proxyAuthorization: HTTPFieldName {
        HTTPFieldName(known: .proxyAuthorization)
    }
    /// `Proxy-Authentication-Info`.
    public static var proxyAuthenticationInfo: HTTPFieldName {
        HTTPFieldName(known: .proxyAuthenticationInfo)
    }
    /// `Expect`.
    public static var expect: HTTPFieldName { HTTPFieldName(known: .expect) }
    /// `Authorization`.
    public static var authorization: HTTPFieldName { HTTPFieldName(known: .authorization) }
    /// `Cookie`.
    public static var cookie: HTTPFieldName { HTTPFieldName(known: .cookie) }
    /// `Set-Cookie`.
    public static var setCookie: HTTPFieldName { HTTPFieldName(known: .setCookie) }
    /// `Via`.
    public static var via: HTTPFieldName { HTTPFieldName(known: .via) }
    /// `Max-Forwards`.
    public static var maxForwards: HTTPFieldName { HTTPFieldName(known: .maxForwards) }
    /// `X-Request-Id`.
    public static var xRequestId: HTTPFieldName { HTTPFieldName(known: .xRequestId) }
    /// `traceparent`.
    public static var traceparent: HTTPFieldName { HTTPFieldName(known: .traceparent) }
    /// `tracestate`.
    public static var tracestate: HTTPFieldName { HTTPFieldName(known: .tracestate) }
    /// `User-Agent`.
    public static var userAgent: HTTPFieldName { HTTPFieldName(known: .userAgent) }
    /// `Accept`.
    public static var accept: HTTPFieldName { HTTPFieldName(known: .accept) }
    /// `Accept-Encoding`.
    public static var acceptEncoding: HTTPFieldName { HTTPFieldName(known: .acceptEncoding) }
    /// `Accept-Language`.
    public static var acceptLanguage: HTTPFieldName { HTTPFieldName(known: .acceptLanguage) }
    /// `Content-Type`.
    public static var contentType: HTTPFieldName { HTTPFieldName(known: .contentType) }
    /// `Content-Encoding`.
    public static var contentEncoding: HTTPFieldName { HTTPFieldName(known: .contentEncoding) }
    /// `Content-Language`.
    public static var contentLanguage: HTTPFieldName { HTTPFieldName(known: .contentLanguage) }
    /// `Content-Location`.
    public static var contentLocation: HTTPFieldName { HTTPFieldName(known: .contentLocation) }
    /// `Content-Range`.
    public static var contentRange: HTTPFieldName { HTTPFieldName(known: .contentRange) }
    /// `Content-Disposition`.
    public static var contentDisposition: HTTPFieldName {
        HTTPFieldName(known: .contentDisposition)
    }
    /// `Date`.
    public static var date: HTTPFieldName { HTTPFieldName(known: .date) }
    /// `Server`.
    public static var server: HTTPFieldName { HTTPFieldName(known: .server) }
    /// `WWW-Authenticate`.
    public static var wwwAuthenticate: HTTPFieldName { HTTPFieldName(known: .wwwAuthenticate) }
    /// `Location`.
    public static var location: HTTPFieldName { HTTPFieldName(known: .location) }
    /// `Retry-After`.
    public static var retryAfter: HTTPFieldName { HTTPFieldName(known: .retryAfter) }
    /// `Origin`.
    public static var origin: HTTPFieldName { HTTPFieldName(known: .origin) }
    /// `Referer`.
    public static var referer: HTTPFieldName { HTTPFieldName(known: .referer) }
    /// `Sec-Fetch-Site`.
    public static var secFetchSite: HTTPFieldName { HTTPFieldName(known: .secFetchSite) }
    /// `Sec-Fetch-Mode`.
    public static var secFetchMode: HTTPFieldName { HTTPFieldName(known: .secFetchMode) }
    /// `Sec-Fetch-Dest`.
    public static var secFetchDest: HTTPFieldName { HTTPFieldName(known: .secFetchDest) }
    /// `Sec-WebSocket-Key`.
    public static var secWebsocketKey: HTTPFieldName { HTTPFieldName(known: .secWebsocketKey) }
    /// `HTTP2-Settings`.
    public static var http2Settings: HTTPFieldName { HTTPFieldName(known: .http2Settings) }
    /// `Cache-Control`.
    public static var cacheControl: HTTPFieldName { HTTPFieldName(known: .cacheControl) }
    /// `ETag`.
    public static var etag: HTTPFieldName { HTTPFieldName(known: .etag) }
    /// `Last-Modified`.
    public static var lastModified: HTTPFieldName { HTTPFieldName(known: .lastModified) }
    /// `If-None-Match`.
    public static var ifNoneMatch: HTTPFieldName { HTTPFieldName(known: .ifNoneMatch) }
    /// `If-Match`.
    public static var ifMatch: HTTPFieldName { HTTPFieldName(known: .ifMatch) }
    /// `If-Modified-Since`.
    public static var ifModifiedSince: HTTPFieldName { HTTPFieldName(known: .ifModifiedSince) }
    /// `If-Range`.
    public static var ifRange: HTTPFieldName { HTTPFieldName(known: .ifRange) }
    /// `Range`.
    public static var range: HTTPFieldName { HTTPFieldName(known: .range) }
    /// `Accept-Ranges`.
    public static var acceptRanges: HTTPFieldName { HTTPFieldName(known: .acceptRanges) }
    /// `Vary`.
    public static var vary: HTTPFieldName { HTTPFieldName(known: .vary) }
    /// `Age`.
    public static var age: HTTPFieldName { HTTPFieldName(known: .age) }
    /// `Expires`.
    public static var expires: HTTPFieldName { HTTPFieldName(known: .expires) }
    /// `Proxy-Status`.
    public static var proxyStatus: HTTPFieldName { HTTPFieldName(known: .proxyStatus) }
    /// `Link`.
    public static var link: HTTPFieldName { HTTPFieldName(known: .link) }
    /// `Forwarded`.
    public static var forwarded: HTTPFieldName { HTTPFieldName(known: .forwarded) }
    /// `X-Forwarded-For`.
    public static var xForwardedFor: HTTPFieldName { HTTPFieldName(known: .xForwardedFor) }
    /// `X-Forwarded-Host`.
    public static var xForwardedHost: HTTPFieldName { HTTPFieldName(known: .xForwardedHost) }
    /// `X-Forwarded-Proto`.
    public static var xForwardedProto: HTTPFieldName { HTTPFieldName(known: .xForwardedProto) }
    /// `DPoP`.
    public static var dpop: HTTPFieldName { HTTPFieldName(known: .dpop) }
    /// `DPoP-Nonce`.
    public static var dpopNonce: HTTPFieldName { HTTPFieldName(known: .dpopNonce) }
    /// `Allow`.
    public static var allow: HTTPFieldName { HTTPFieldName(known: .allow) }
}
