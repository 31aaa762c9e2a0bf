/// A part of a request that is composed with `RequestBuilder { … }`.
///
/// Values with a meaning of their own are also parts: an `Endpoint`, a `BaseURL`, an `HTTPMethod`, an
/// `HTTPTask`
/// for the content, `QueryItems` for the query. The types here are for the others. Later parts override
/// earlier
/// ones; queries add up.
public protocol RequestPart {
    /// Returns the builder with this part.
    func apply(to builder: RequestBuilder) -> RequestBuilder
}

/// The scheme; the host is unchanged.
public struct URLScheme: RequestPart {
    private let scheme: Origin.Scheme

    /// Creates the part.
    public init(_ scheme: Origin.Scheme) { self.scheme = scheme }

    /// Replaces the scheme.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.scheme(scheme) }
}

/// The host and its port; the scheme is unchanged and defaults to `https`.
public struct URLHost: RequestPart {
    private let host: String
    private let port: UInt16?

    /// Creates the part; the default port is that of the scheme.
    public init(_ host: String, port: UInt16? = nil) { (self.host, self.port) = (host, port) }

    /// Replaces the host and port.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.host(host, port: port)
    }
}

/// The path below the base URL; see `Endpoint.path`.
public struct URLPath: RequestPart {
    private let path: String

    /// Creates the part.
    public init(_ path: String) { self.path = path }

    /// Replaces the path.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.path(path) }
}

/// Query parameters from the properties of a value.
public struct URLQuery: RequestPart {
    private let parameters: any Encodable & Sendable

    /// Creates the part from ordered parameters.
    public init(_ parameters: QueryItems) { self.parameters = parameters }

    /// Creates the part from the properties of a value.
    public init(encoding parameters: some Encodable & Sendable) { self.parameters = parameters }

    /// Adds the parameters.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.query(encoding: parameters)
    }
}

/// The fields of the request.
public struct Headers: RequestPart {
    private enum Change {
        case replacing, appending
    }

    private let fields: [(name: String, value: String)]
    private let change: Change

    /// Creates a part that replaces the fields with these names.
    public init(_ fields: KeyValuePairs<String, String>) {
        self.fields = fields.map { ($0.key, $0.value) }
        change = .replacing
    }

    /// Creates a part that appends lines, even if a field of the same name exists.
    public init(append fields: KeyValuePairs<String, String>) {
        self.fields = fields.map { ($0.key, $0.value) }
        change = .appending
    }

    /// Adds the fields.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        fields.reduce(builder) { builder, field in
            switch change {
            case .replacing: builder.header(field.name, field.value)
            case .appending: builder.appendingHeader(field.name, field.value)
            }
        }
    }
}

/// The maximum duration of the whole call, for `NetworkManager.perform`.
public struct TimeoutInterval: RequestPart {
    private let timeout: Duration

    /// Creates the part.
    public init(_ timeout: Duration) { self.timeout = timeout }

    /// Replaces the timeout.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.timeout(timeout) }
}

/// The instructions for caches, in the `Cache-Control` field of the request (RFC 9111 §5.2.1).
public enum CachePolicy: String, RequestPart, Sendable {
    /// Accept a stored response only after the origin has validated it.
    case revalidate = "no-cache"
    /// Accept no stored response, and store none.
    case ignore = "no-store"
    /// Accept only a stored response; without one, the cache responds with 504.
    case onlyCached = "only-if-cached"

    /// Replaces the field.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.header("Cache-Control", rawValue)
    }
}
