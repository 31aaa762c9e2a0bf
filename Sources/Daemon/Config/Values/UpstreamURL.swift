package import NetproxyHTTPMessage

/// The URL of a channel's upstream, without user information, query or fragment.
package struct UpstreamURL: Sendable, Hashable {
    package let origin: Origin
    /// The prefix of every path: empty, or a path such as `/v1` without a trailing slash.
    package let basePath: String

    package init(origin: Origin, basePath: String) {
        self.origin = origin
        self.basePath = basePath
    }

    /// Whether the path has a place for the credential.
    package var hasCredentialPlace: Bool { basePath.contains(CredentialPlacement.marker) }

    init(text: String) throws(URLText.Fault) {
        // The marker is not valid in a URL; validate the text without it.
        let parts = text.split(
            separator: CredentialPlacement.marker,
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        if parts.count > 1 {
            let authority = parts[0].firstRange(of: "://").map { parts[0][$0.upperBound...] }
            guard parts.count == 2, authority?.contains("/") == true else { throw .marker }
        }
        let plain = parts.joined()
        let url = try URLText(plain)
        guard url.query == nil else { throw .query }
        guard !url.path.split(separator: "/").contains(where: URLText.isDotSegment) else {
            throw .dotSegment
        }
        var path = url.path[...]
        if parts.count == 2 {
            let inPath = parts[0].utf8.count - (plain.utf8.count - url.path.utf8.count)
            path =
                url.path.prefix(inPath) + CredentialPlacement.marker
                + url.path.dropFirst(inPath)
        }
        while path.hasSuffix("/") { path = path.dropLast() }
        self.init(origin: url.origin, basePath: String(path))
    }
}

/// A fixed URL, such as a token endpoint; it may have a query (RFC 6749 §3.2).
package struct EndpointURL: Sendable, Hashable {
    package let origin: Origin
    /// The path and query; at least `/`.
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
