public import FoundationEssentials
@_exported public import NetworkClient

// The names of NetLord for what the library calls otherwise: an endpoint of path and query items, a builder with
// setters, a manager over a session and an authorizer.

/// Method, path and query items of a request.
public struct Endpoint: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The path below the base path.
    public var path: String
    /// The query, in its order.
    public var queryItems: [URLQueryItem]

    /// Describes a request.
    public init(method: HTTPMethod = .get, path: String, queryItems: [URLQueryItem] = []) {
        self.method = method
        self.path = path
        self.queryItems = queryItems
    }
}

/// Puts a request together; what is wrong with it is thrown when it is performed.
public struct RequestBuilder: Sendable {
    private var parts = NetworkClient.RequestBuilder()
    private var scheme: String?

    /// A request without anything.
    public init() {}

    /// Sets the scheme, `http` or `https`.
    public func setScheme(_ scheme: String) -> Self { changed { $0.scheme = scheme } }

    /// Sets the host, perhaps with a port.
    public func setHost(_ host: String) -> Self {
        changed { builder in
            let authority = Authority(host)
            builder.parts = builder.parts.host(authority?.host ?? host, port: authority?.port)
        }
    }

    /// Sets the path that all endpoints share.
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

    /// As `setEndpoint(_:)`.
    public func setEndpooint(_ endpoint: Endpoint) -> Self { setEndpoint(endpoint) }

    /// Sets a field.
    public func setHeader(_ name: String, _ value: String) -> Self {
        changed { $0.parts = $0.parts.header(name, value) }
    }

    /// The request, for `NetworkManager.perform(request:)`.
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

/// A request as a `RequestBuilder` has put it together.
public struct BuiltRequest: Sendable {
    let parts: NetworkClient.RequestBuilder
    let fault: String?

    /// The request itself.
    ///
    /// - Throws: `http_request_error` that says what is wrong with it.
    public func request() throws(NetworkError) -> Request {
        guard let fault else { return try parts.build() }
        throw NetworkError(.httpRequestError, side: .downstream, retry: .safe, detail: fault)
    }
}

/// Performs requests over a session, signed by an authorizer if there is one.
public struct NetworkManager: Sendable {
    private let manager: NetworkClient.NetworkManager<PathEndpoint>

    /// Makes a manager.
    ///
    /// - Parameters:
    ///   - session: sends attempts, such as a `PooledTransport`; what the process shares is `.shared`.
    ///   - authorizer: signs each request, such as an `OAuthManager` or a `HeaderAuthorizer`.
    ///   - decoder: decodes content.
    public init(
        session: any HTTPTransport,
        authorizer: (any Authorizing)? = nil,
        decoder: JSONDecoder = JSONDecoder()
    ) {
        var channel = NetworkChannel(transport: session, authorizer: authorizer)
        channel.decoder = decoder
        manager = NetworkClient.NetworkManager(channel)
    }

    /// Performs a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - needsAuthorization: whether it is signed, where there is an authorizer.
    /// - Returns: the whole response.
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

    /// Performs a request and gives back its content.
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
    /// Makes a manager for a service that knows its server by itself.
    ///
    /// - Parameters:
    ///   - service: gets tokens.
    ///   - tokenStore: keeps them.
    public init(service: any OAuthService, tokenStore: any TokenKeeping) {
        // No request is made of it: the service has its own way.
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
