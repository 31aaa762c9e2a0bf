public import FoundationEssentials
@_exported public import NetworkClient

// The names of NetLord for types that the library names differently: an endpoint of path and query items, a
// builder with setters, a manager over a session and an authorizer.

/// Supplies the field that signs a request, and whether a user is signed in.
///
/// The document's `AnyPublisher` is an `async` function here, because Linux has no Combine.
public typealias Authorizing = HeaderAuthorizing
/// Stores, returns and removes tokens, such as a keychain.
public typealias TokenStoring = TokenKeeping

/// The limits of a session.
public typealias URLSessionConfiguration = UpstreamOptions

extension URLSessionConfiguration {
    /// The default limits.
    public static var `default`: URLSessionConfiguration { URLSessionConfiguration() }
}

/// A session: pooled connections, under the name that Foundation uses.
///
/// Foundation's `URLSession` is not used; on Linux it neither pins keys nor streams with backpressure.
public struct URLSession: HTTPTransport {
    /// The connections that the sessions of a process share.
    public static var shared: SharedTransport { SharedTransport() }

    private let transport: DeferredTransport

    /// Creates a session with its own connections; with an unusable configuration, each request fails.
    public init(configuration: URLSessionConfiguration) {
        transport = DeferredTransport { try PooledTransport(options: configuration) }
    }

    /// Sends the request once.
    ///
    /// - Throws: the error of the attempt or of the configuration.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await transport.send(request, context: &context)
    }
}

extension OAuthManager: HeaderAuthorizing {
    /// Returns the `Authorization` field with the current token, which is renewed if it has expired.
    ///
    /// - Throws: `NetworkError`: `reauthorization_required` if no user is signed in,
    ///   `credential_unavailable` if the token cannot be renewed now.
    public func authorize() async throws -> HTTPHeaders {
        let credential = try await credential(until: nil)
        return [credential.name: credential.value.reveal()]
    }
}

/// Method, path and query items of a request.
public struct Endpoint: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The path, relative to the base path.
    public var path: String
    /// The query items, in order.
    public var queryItems: [URLQueryItem]

    /// Creates the description of a request.
    public init(method: HTTPMethod = .get, path: String, queryItems: [URLQueryItem] = []) {
        self.method = method
        self.path = path
        self.queryItems = queryItems
    }
}

/// Builds a request; an invalid part is reported as an error when the request is performed.
public struct RequestBuilder: Sendable {
    private var parts = NetworkClient.RequestBuilder()
    private var scheme: String?

    /// Creates an empty builder.
    public init() {}

    /// Sets the scheme, `http` or `https`.
    public func setScheme(_ scheme: String) -> Self { changed { $0.scheme = scheme } }

    /// Sets the host, with an optional port.
    public func setHost(_ host: String) -> Self {
        changed { builder in
            let authority = Authority(host)
            builder.parts = builder.parts.host(authority?.host ?? host, port: authority?.port)
        }
    }

    /// Sets the base path of all endpoints.
    public func setBasePath(_ path: String) -> Self {
        changed { $0.parts = $0.parts.basePath(path) }
    }

    /// Sets method, path and query.
    public func setEndpoint(_ endpoint: Endpoint) -> Self {
        changed { builder in
            builder.parts = builder.parts.method(endpoint.method).path(endpoint.path)
                .query(QueryItems(endpoint.queryItems))
        }
    }

    /// Calls `setEndpoint(_:)`; the spelling is that of NetLord.
    public func setEndpooint(_ endpoint: Endpoint) -> Self { setEndpoint(endpoint) }

    /// Sets a field.
    public func setHeader(_ name: String, _ value: String) -> Self {
        changed { $0.parts = $0.parts.header(name, value) }
    }

    /// Returns the request, for `NetworkManager.perform(request:)`.
    public func build() -> BuiltRequest {
        guard let scheme else { return BuiltRequest(parts: parts, fault: nil) }
        guard let known = Origin.Scheme(rawValue: scheme.lowercased()) else {
            return BuiltRequest(parts: parts, fault: "the scheme '\(scheme)' is not http or https")
        }
        return BuiltRequest(parts: parts.scheme(known), fault: nil)
    }

    private func changed(_ change: (inout RequestBuilder) -> Void) -> RequestBuilder {
        var copy = self
        change(&copy)
        return copy
    }
}

/// A request that a `RequestBuilder` has built.
public struct BuiltRequest: Sendable {
    let parts: NetworkClient.RequestBuilder
    let fault: String?

    /// Returns the request.
    ///
    /// - Throws: `http_request_error`, which describes the fault of the request.
    public func request() throws(NetworkError) -> Request {
        guard let fault else { return try parts.build() }
        throw NetworkError(.httpRequestError, side: .downstream, retry: .safe, detail: fault)
    }
}

/// Performs requests over a session; an optional authorizer signs them.
public struct NetworkManager: Sendable {
    private let manager: NetworkClient.NetworkManager<PathEndpoint>

    /// Creates a manager.
    ///
    /// - Parameters:
    ///   - session: sends attempts, such as a `URLSession`, a `PooledTransport` or a stub; `.shared` is the
    ///     shared transport of the process.
    ///   - authorizer: signs each request, such as an `OAuthManager`.
    ///   - decoder: decodes content.
    public init(
        session: any HTTPTransport,
        authorizer: (any NetworkClient.Authorizing)? = nil,
        decoder: JSONDecoder = JSONDecoder()
    ) {
        var channel = NetworkChannel(transport: session, authorizer: authorizer)
        channel.decoder = decoder
        manager = NetworkClient.NetworkManager(channel)
    }

    /// Creates a manager with an authorizer that supplies fields.
    ///
    /// - Parameters:
    ///   - session: sends attempts.
    ///   - authorizer: supplies the `Authorization` field of each request.
    ///   - decoder: decodes content.
    @_disfavoredOverload
    public init(
        session: any HTTPTransport,
        authorizer: any Authorizing,
        decoder: JSONDecoder = JSONDecoder()
    ) {
        self.init(session: session, authorizer: HeaderAuthorizer(authorizer), decoder: decoder)
    }

    /// Performs a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - needsAuthorization: whether the authorizer, if any, signs the request.
    /// - Returns: the complete response.
    /// - Throws: `NetworkError`.
    public func perform(
        request: BuiltRequest,
        needsAuthorization: Bool = true
    ) async throws(NetworkError) -> WholeResponse {
        try await manager.perform(
            try request.request(),
            authorization: authorization(needsAuthorization)
        )
    }

    /// Performs a request and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func perform<Value: Decodable & Sendable>(
        request: BuiltRequest,
        responseType type: Value.Type,
        needsAuthorization: Bool = true
    ) async throws(NetworkError) -> Value {
        try await perform(request: request, needsAuthorization: needsAuthorization).decode(type)
    }

    /// Performs a request and returns its content.
    ///
    /// - Throws: `NetworkError`.
    public func dataTask(_ request: BuiltRequest) async throws(NetworkError) -> Data {
        try await perform(request: request).data
    }

    /// Performs a request and stores its content in a file.
    ///
    /// - Throws: `NetworkError`.
    public func downloadTask(
        _ request: BuiltRequest,
        to path: String
    ) async throws(NetworkError) -> DownloadedFile {
        var options = CallOptions()
        options.authorization = authorization(true)
        return try await manager.download(try request.request(), to: path, options: options)
    }

    private func authorization(_ isNeeded: Bool) -> AuthorizationRequirement {
        isNeeded && manager.channel.authorizer != nil ? .required : .never
    }
}

extension OAuthManager {
    /// Creates a manager for a service that has its own connection to the server.
    ///
    /// - Parameters:
    ///   - service: obtains tokens.
    ///   - tokenStore: stores tokens.
    public init(service: any OAuthService, tokenStore: any TokenStoring) {
        // The origin is never used: the service sends its own requests.
        let nowhere = Origin(scheme: .https, host: "service.invalid")
        self.init(
            service: service,
            tokenStore: KeptTokens(in: tokenStore),
            configuration: OAuthConfiguration(
                tokenEndpoint: .init(origin: nowhere, target: "/"),
                clientID: "service"
            )
        )
    }
}
