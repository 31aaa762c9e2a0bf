@_exported public import NetworkClient

// The names of TYCoreAPI for what the library calls otherwise: a manager with completion handlers, a networker
// for each channel, an endpoint with texts.

/// The error of a call.
public typealias APIClientError = NetworkError
/// Gets the outcome of a call, on the actor that it was written in.
public typealias Completion<Value> =
    @isolated(any) @Sendable (Result<Value, APIClientError>) -> Void
/// Records requests and responses.
public typealias NetworkLoggerInterface = NetworkLogger
/// Records calls with swift-log, by subsystem and category.
public typealias CoreNetworkLogger = SwiftLogNetworkLogger

/// One operation of an API, with a base URL and parameters as texts and `Any`.
public protocol Endpoint: NetworkClient.Endpoint {
    /// Where the API lives.
    var baseUrl: String { get }
    /// The path; what follows a `?` goes into the query.
    var path: String { get }
    /// Parameters: in the query for GET, HEAD and DELETE, else a JSON body.
    ///
    /// Default `nil`.
    var params: [String: Any]? { get }
}

extension Endpoint {
    /// None.
    public var params: [String: Any]? { nil }
    /// The base URL as the library has it.
    public var baseURL: BaseURL { BaseURL(baseUrl) }
    /// The parameters as the library has them.
    public var task: HTTPTask { params.map { HTTPTask.parameters(any: $0) } ?? .plain }
}

/// Holds the manager of a channel, so that no feature makes its own.
public protocol Networker {
    /// The operations of a feature.
    associatedtype EndpointType: Endpoint
    /// Makes the feature's requests.
    var networkManager: NetworkManager<EndpointType> { get set }
}

extension NetworkManager {
    /// Makes a manager for one host.
    ///
    /// - Parameters:
    ///   - sessionManager: sends attempts; by default what the process shares. One with a
    ///     `TrustPolicy` pins keys.
    ///   - host: the only host that requests may go to, as `host` or `host:port`.
    ///   - networkLogger: records requests and responses.
    ///   - interceptor: of every call.
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
    ///   - type: what to decode.
    ///   - completion: gets the outcome, once; dropped if the manager is gone by then.
    public func request<Value: Decodable & Sendable>(
        endpoint: Item,
        type: Value.Type,
        @_inheritActorContext completion: @escaping TYCoreAPI.Completion<Value>
    ) {
        request(endpoint, as: type, completion: completion)
    }
}
