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

/// One operation of an API, with a base URL and parameters as strings and `Any`.
public protocol Endpoint: NetworkClient.Endpoint {
    /// The base URL of the API.
    var baseUrl: String { get }
    /// The path; the part after a `?` is added to the query.
    var path: String { get }
    /// The parameters: in the query for GET, HEAD and DELETE, otherwise a JSON body.
    ///
    /// Default `nil`.
    var params: [String: Any]? { get }
}

extension Endpoint {
    /// No parameters.
    public var params: [String: Any]? { nil }
    /// The base URL as a library type.
    public var baseURL: BaseURL { BaseURL(baseUrl) }
    /// The parameters as a library type.
    public var task: HTTPTask { params.map { HTTPTask.parameters(any: $0) } ?? .plain }
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
    ///   - sessionManager: sends attempts; by default the shared transport of the process. A transport with
    ///     a `TrustPolicy` pins keys.
    ///   - host: the only host for requests, as `host` or `host:port`.
    ///   - networkLogger: records requests and responses.
    ///   - interceptor: intercepts every call.
    public convenience init(
        sessionManager: (any HTTPTransport)? = nil,
        host: String,
        networkLogger: any NetworkLoggerInterface,
        interceptor: (any RequestInterceptor)? = nil
    ) {
        self.init(
            NetworkChannel(
                transport: sessionManager ?? .shared,
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
