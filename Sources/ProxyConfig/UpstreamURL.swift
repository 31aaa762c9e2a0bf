/// The scheme of an upstream or an endpoint.
package enum URLScheme: String, Sendable {
    case http
    case https

    package var defaultPort: Int { self == .https ? 443 : 80 }
}

/// Where a channel sends requests: an absolute URL with no user information, query or fragment.
package struct UpstreamURL: Sendable, Hashable {
    package let scheme: URLScheme
    /// Lower case, IPv6 without brackets.
    package let host: String
    package let port: Int
    /// What goes before every path: empty, or `/v1` without a slash at its end.
    package let basePath: String

    package init(scheme: URLScheme, host: String, port: Int, basePath: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.basePath = basePath
    }

    /// Whether the connection cannot leave this machine, so that plain HTTP reveals nothing.
    package var isLoopback: Bool { HostText.isLoopback(host) }

    init(text: String) throws(URLText.Fault) {
        let url = try URLText(text)
        guard url.query == nil else { throw .query }
        guard !url.path.split(separator: "/").contains(where: URLText.isDotSegment) else {
            throw .dotSegment
        }
        var path = url.path[...]
        while path.hasSuffix("/") { path = path.dropLast() }
        self.init(scheme: url.scheme, host: url.host, port: url.port, basePath: String(path))
    }
}

/// One fixed URL, such as a token endpoint; it may have a query (RFC 6749 §3.2).
package struct EndpointURL: Sendable, Hashable {
    package let scheme: URLScheme
    /// Lower case, IPv6 without brackets.
    package let host: String
    package let port: Int
    /// Path and query, `/` at least.
    package let target: String

    package init(scheme: URLScheme, host: String, port: Int, target: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.target = target
    }

    package var isLoopback: Bool { HostText.isLoopback(host) }

    init(text: String) throws(URLText.Fault) {
        let url = try URLText(text)
        let target = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?\($0)" } ?? "")
        self.init(scheme: url.scheme, host: url.host, port: url.port, target: target)
    }
}
