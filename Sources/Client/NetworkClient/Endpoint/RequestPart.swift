/// One piece of a request that is composed with `RequestBuilder { … }`.
///
/// Values that have a meaning of their own are pieces as they are: an `Endpoint`, a `BaseURL`, an
/// `HTTPMethod`, an `HTTPTask` for the content, `QueryItems` for the query. The others have a type
/// here. Later pieces win over earlier ones; queries add up.
public protocol RequestPart {
    /// The builder with this piece put in.
    func apply(to builder: RequestBuilder) -> RequestBuilder
}

/// The scheme; the host is kept.
public struct URLScheme: RequestPart {
    private let scheme: Origin.Scheme

    /// Names the scheme.
    public init(_ scheme: Origin.Scheme) { self.scheme = scheme }

    /// Replaces the scheme.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.scheme(scheme) }
}

/// The host and its port; the scheme is kept, or `https` where none was named.
public struct URLHost: RequestPart {
    private let host: String
    private let port: UInt16?

    /// Names a host; without a port it is the scheme's own.
    public init(_ host: String, port: UInt16? = nil) { (self.host, self.port) = (host, port) }

    /// Replaces host and port.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.host(host, port: port)
    }
}

/// The path below the base URL; see `Endpoint.path`.
public struct URLPath: RequestPart {
    private let path: String

    /// Names a path.
    public init(_ path: String) { self.path = path }

    /// Replaces the path.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.path(path) }
}

/// Parameters for the query, from the fields of a value.
public struct URLQuery: RequestPart {
    private let parameters: any Encodable & Sendable

    /// Takes parameters in their order.
    public init(_ parameters: QueryItems) { self.parameters = parameters }

    /// Takes the fields of a value.
    public init(encoding parameters: some Encodable & Sendable) { self.parameters = parameters }

    /// Adds the parameters.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.query(encoding: parameters)
    }
}

/// Fields of the request.
public struct Headers: RequestPart {
    private enum Change {
        case replacing, appending
    }

    private let fields: [(name: String, value: String)]
    private let change: Change

    /// Replaces the fields of these names.
    public init(_ fields: KeyValuePairs<String, String>) {
        self.fields = fields.map { ($0.key, $0.value) }
        change = .replacing
    }

    /// Adds lines after those that are there, also of the same name.
    public init(append fields: KeyValuePairs<String, String>) {
        self.fields = fields.map { ($0.key, $0.value) }
        change = .appending
    }

    /// Puts the fields in.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        fields.reduce(builder) { builder, field in
            switch change {
            case .replacing: builder.header(field.name, field.value)
            case .appending: builder.appendingHeader(field.name, field.value)
            }
        }
    }
}

/// How long the whole call may take, where it is `NetworkManager.perform` that sends the request.
public struct TimeoutInterval: RequestPart {
    private let timeout: Duration

    /// Names a duration.
    public init(_ timeout: Duration) { self.timeout = timeout }

    /// Replaces the timeout.
    public func apply(to builder: RequestBuilder) -> RequestBuilder { builder.timeout(timeout) }
}

/// The instructions for caches on the way, as the `Cache-Control` of the request (RFC 9111 §5.2.1).
public enum CachePolicy: String, RequestPart, Sendable {
    /// A stored answer only after the origin has confirmed it.
    case revalidate = "no-cache"
    /// No stored answer, and none is kept.
    case ignore = "no-store"
    /// A stored answer, or 504.
    case onlyCached = "only-if-cached"

    /// Replaces the field.
    public func apply(to builder: RequestBuilder) -> RequestBuilder {
        builder.header("Cache-Control", rawValue)
    }
}
