@_exported public import NetworkClient

// The names of TYCoreAPI for types that the library names differently: a manager with completion handlers, a
// networker for each channel, an endpoint with strings.

/// The error of a call.
public typealias APIClientError = NetworkError
/// A closure that receives the outcome of a call, on the actor of the caller.
public typealias Completion<Value> =
    @isolated(any) @Sendable (Result<Value, APIClientError>) -> Void
/// Records requests and responses.
public typealias NetworkLoggerInterface = NetworkLogger
/// Records calls with swift-log, by subsystem and category.
public typealias CoreNetworkLogger = SwiftLogNetworkLogger

/// The fields of an endpoint as a dictionary.
///
/// A protocol of its own, because `NetworkClient.Endpoint` has a property of the same name.
public protocol EndpointFields {
    /// The request fields by name.
    ///
    /// Default none.
    var headers: [String: String] { get }
}

extension EndpointFields {
    /// No fields.
    public var headers: [String: String] { [:] }
}

/// One operation of an API, with a base URL and parameters as strings and `Any`.
public protocol Endpoint: NetworkClient.Endpoint, EndpointFields {
    /// The base URL of the API.
    var baseUrl: String { get }
    /// The path; the part after a `?` is added to the query.
    var path: String { get }
    /// The parameters: in the query for GET, HEAD and DELETE, otherwise a JSON body.
    ///
    /// Default `nil`.
    var params: [String: Any]? { get }
    /// The complete URL, which ends with `path`.
    ///
    /// Default: `baseUrl` and `path`.
    var url: String { get }
}

extension Endpoint {
    /// No parameters.
    public var params: [String: Any]? { nil }
    /// The base URL and the path.
    public var url: String { "\(baseUrl)\(path)" }
    /// The URL without the path, as a library type.
    ///
    /// A request with a `url` that does not end with the `path` is refused; the error contains the URL.
    public var baseURL: BaseURL {
        let (url, path) = (url, path)
        return BaseURL(
            url.hasSuffix(path)
                ? String(url.dropLast(path.count)) : "\(url), which does not end with the path"
        )
    }
    /// The fields as a library type.
    public var headers: HTTPHeaders { HTTPHeaders(headers as [String: String]) }
    /// The parameters as a library type.
    public var task: HTTPTask { params.map { HTTPTask.parameters(any: $0) } ?? .plain }
}

/// The encoding of an endpoint's parameters.
public enum ParameterEncoding: String, Sendable {
    /// Parameters in the query.
    case url
    /// Parameters in a JSON body.
    case json
}

extension HTTPMethod {
    /// The encoding of the parameters: the query for GET, HEAD and DELETE, otherwise JSON.
    public var encoding: ParameterEncoding {
        self == .get || self == .head || self == .delete ? .url : .json
    }
}

/// A type that holds the manager of a channel, so that features do not create their own.
public protocol Networker {
    /// The operations of a feature.
    associatedtype EndpointType: Endpoint
    /// The manager that sends the feature's requests.
    var networkManager: NetworkManager<EndpointType> { get set }
}

extension NetworkManager {
    /// Creates a manager for one host.
    ///
    /// - Parameters:
    ///   - sessionManager: sends attempts; by default the shared transport of the process. Its own
    ///     `TrustPolicy` decides about certificates.
    ///   - isSSLPinningActive: whether the pins are checked; `false` is for tests against a local server.
    ///   - pins: the public keys of the host as `sha256/BASE64`, if no session manager is given. An empty
    ///     list trusts the system's authorities. An invalid pin makes every request fail.
    ///   - host: the only host for requests, as `host` or `host:port`.
    ///   - networkLogger: records requests and responses.
    ///   - interceptor: intercepts every call.
    public convenience init(
        sessionManager: (any HTTPTransport)? = nil,
        isSSLPinningActive: Bool = true,
        pins: [String] = [],
        host: String,
        networkLogger: any NetworkLoggerInterface,
        interceptor: (any RequestInterceptor)? = nil
    ) {
        let transport: any HTTPTransport =
            if let sessionManager {
                sessionManager
            } else if isSSLPinningActive, !pins.isEmpty {
                DeferredTransport { try PooledTransport(trust: .pinned(pins)) }
            } else {
                SharedTransport()
            }
        self.init(
            NetworkChannel(
                transport: transport,
                host: host,
                interceptors: interceptor.map { [$0] } ?? [],
                logger: networkLogger
            )
        )
    }

    /// Sends a request and decodes the content of its response.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: the type to decode.
    ///   - completion: receives the outcome, once; it is not called if the manager no longer exists.
    public func request<Value: Decodable & Sendable>(
        endpoint: Item,
        type: Value.Type,
        @_inheritActorContext completion: @escaping TYCoreAPI.Completion<Value>
    ) {
        request(endpoint, as: type, completion: completion)
    }
}
