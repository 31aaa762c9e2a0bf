package import HTTPMessage

/// The URL that a channel sends requests to, without user information, query or fragment.
package struct UpstreamURL: Sendable, Hashable {
    package let origin: Origin
    /// The prefix of every path: empty, or such as `/v1`, without a trailing slash.
    package let basePath: String

    package init(origin: Origin, basePath: String) {
        self.origin = origin
        self.basePath = basePath
    }

    init(text: String) throws(URLText.Fault) {
        let url = try URLText(text)
        guard url.query == nil else { throw .query }
        guard !url.path.split(separator: "/").contains(where: URLText.isDotSegment) else {
            throw .dotSegment
        }
        var path = url.path[...]
        while path.hasSuffix("/") { path = path.dropLast() }
        self.init(origin: url.origin, basePath: String(path))
    }
}

/// A fixed URL, such as a token endpoint; it may have a query (RFC 6749 §3.2).
package struct EndpointURL: Sendable, Hashable {
    package let origin: Origin
    /// Path and query; at least `/`.
    package let target: String

    package init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
    }

    init(text: String) throws(URLText.Fault) {
        let url = try URLText(text)
        let target = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?\($0)" } ?? "")
        self.init(origin: url.origin, target: target)
    }
}
