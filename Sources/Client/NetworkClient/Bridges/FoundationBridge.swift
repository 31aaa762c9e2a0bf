public import FoundationEssentials

extension ByteSlice {
    /// A copy of the bytes in Foundation's form.
    public var data: Data { Data(array) }
}

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
        guard let origin = base.origin else {
            let shown = Redaction.standard.malformedURL(String(text[..<mark]))
            throw NetworkError.unsendable(
                "'\(shown)' is no URL of the form http(s)://host[:port][/path][?query]"
            )
        }
        if let bad = target.unicodeScalars.first(where: { !Request.isTargetScalar($0) }) {
            throw NetworkError.unsendable(
                "the URL contains \(String(reflecting: Character(bad))), which must be percent-encoded"
            )
        }
        self.init(
            method: method,
            origin: origin,
            target: String(target),
            headers: headers,
            body: content.map(DataBody.body) ?? .empty
        )
    }

    private static func isTargetScalar(_ scalar: Unicode.Scalar) -> Bool {
        UInt8(exactly: scalar.value).map(Grammar.isTargetByte) ?? false
    }

    /// Creates a GET request for a URL.
    ///
    /// - Throws: `http_request_error`, as for `init(_:url:headers:content:)`.
    public init(_ url: String) throws(NetworkError) { try self.init(.get, url: url) }

    /// Creates a GET request for a URL.
    ///
    /// - Throws: `http_request_error`, as for `init(_:url:headers:content:)`.
    public init(_ url: URL) throws(NetworkError) { try self.init(.get, url: url) }

    /// The URL of the request; `nil` if Foundation cannot parse it.
    public var url: URL? { URL(string: "\(origin)\(target)") }
}
