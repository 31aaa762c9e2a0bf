public import FoundationEssentials

extension Request {
    /// Creates a request for a URL.
    ///
    /// - Throws: `http_request_error` if the URL is not an `http` or `https` URL with a host, or contains
    ///   user
    ///   information.
    public init(
        _ method: HTTPMethod = .get,
        url: URL,
        headers: HTTPHeaders = [:],
        content: Data? = nil
    ) throws(NetworkError) {
        try self.init(method, url: url.absoluteString, headers: headers, content: content)
    }

    /// Creates a request for a URL, which is sent byte for byte, so that a signed URL stays valid.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - url: the URL, such as the `next` of a page; the fragment after `#` is not sent.
    ///   - headers: the fields.
    ///   - content: the body.
    /// - Throws: `http_request_error` if the URL is not an `http` or `https` URL with a host, or contains
    ///   user
    ///   information or invalid bytes.
    public init(
        _ method: HTTPMethod = .get,
        url: String,
        headers: HTTPHeaders = [:],
        content: Data? = nil
    ) throws(NetworkError) {
        let text = url.prefix { $0 != "#" }
        let mark = text.firstIndex(of: "?") ?? text.endIndex
        // Search before the query only, because the query may contain another URL.
        let scheme = text[..<mark].firstRange(of: "://")?.upperBound ?? text.startIndex
        let slash = text[scheme..<mark].firstIndex(of: "/") ?? mark
        let base = BaseURL(String(text[..<slash]))
        let target = (slash == mark ? "/" : "") + text[slash...]
        guard let origin = base.origin, target.utf8.allSatisfy(Grammar.isTargetByte) else {
            throw NetworkError.unsendable("the URL is no http(s)://host[:port][/path][?query]")
        }
        self.init(
            method: method,
            origin: origin,
            target: String(target),
            headers: headers,
            body: content.map(DataBody.body) ?? .empty
        )
    }

    /// The URL of the request; `nil` if Foundation cannot parse it.
    public var url: URL? { URL(string: "\(origin)\(target)") }
}
