public import FoundationEssentials
@_exported public import NetworkClient
import Synchronization

// The names of NetworkSession for types that the library names differently: an API manager that returns data,
// and a request manager that decodes it.

/// The method of a request.
public enum RequestType: String, Sendable {
    /// The supported methods.
    case GET, POST, PUT, PATCH, DELETE
}

/// The error object of a server.
public struct ServerError: Decodable, Sendable, Equatable {
    /// The description of the error.
    public var message: String
    /// The error code, if the server provides one.
    public var code: Int?
}

/// The error of a request.
public enum NetworkError: Error {
    /// The status is not 200, and the content is not a `ServerError`.
    case invalidServerResponse
    /// The status is not 200, and the server describes the error.
    case ServerError(NetworkSession.ServerError)
}

private let storedDecoder = Mutex(JSONDecoder())

/// The decoder of requests that do not declare their own; set it once, before the first request.
public var defaultDecoder: JSONDecoder {
    get { storedDecoder.withLock { $0 } }
    set { storedDecoder.withLock { $0 = newValue } }
}

/// The description of a request.
public protocol RequestProtocol {
    /// `https` or `http`.
    var scheme: Origin.Scheme { get }
    /// The host, with an optional port.
    var host: String { get }
    /// The path.
    var path: String { get }
    /// The request fields.
    var headers: [String: String] { get }
    /// The JSON body; empty for none.
    var params: [String: Any] { get }
    /// The query parameters.
    var urlParams: [String: String?] { get }
    /// Whether the request contains the token.
    var addAuthorizationToken: Bool { get }
    /// The method.
    var requestType: RequestType { get }
    /// The decoder of the response.
    var decoder: JSONDecoder { get }
}

extension RequestProtocol {
    /// Returns `https`.
    public var scheme: Origin.Scheme { .https }
    /// No fields.
    public var headers: [String: String] { [:] }
    /// No body.
    public var params: [String: Any] { [:] }
    /// No query.
    public var urlParams: [String: String?] { [:] }
    /// Sends no token.
    public var addAuthorizationToken: Bool { false }
    /// The `defaultDecoder`.
    public var decoder: JSONDecoder { defaultDecoder }

    /// Returns the request in the form in which it is sent.
    ///
    /// - Throws: `http_request_error`, which describes the fault of the request.
    public func createURLRequest(
        authToken: String?
    ) throws(NetworkClient.NetworkError) -> Request {
        let query = urlParams.sorted { $0.key < $1.key }
            .map { QueryItems.Item($0.key, $0.value) }
        var builder = RequestBuilder(BaseURL("\(scheme.rawValue)://\(host)"))
            .path(path).method(HTTPMethod(rawValue: requestType.rawValue) ?? .get).query(
                QueryItems(query)
            )
            .headers(HTTPHeaders(headers)).header("Content-Type", "application/json")
        if addAuthorizationToken, let authToken {
            builder = builder.header("Authorization", authToken)
        }
        if !params.isEmpty { builder = builder.json(try Parameters(params)) }
        return try builder.build()
    }
}

/// A type that performs requests and returns data.
public protocol APIManagerProtocol: Sendable {
    /// Performs a request; only a 200 is a success.
    ///
    /// - Parameters:
    ///   - request: the description of the request.
    ///   - authToken: the value of the `Authorization` field if the request needs the token.
    /// - Returns: the content of the response.
    /// - Throws: `NetworkClient.NetworkError`, which contains the response. An implementation without a
    ///   response throws `NetworkError.invalidServerResponse`.
    func perform(_ request: any RequestProtocol, authToken: String?) async throws -> Data
}

/// Performs requests over a transport.
public struct APIManager: APIManagerProtocol {
    private let manager: NetworkManager<PathEndpoint>

    /// Creates a manager for a transport, by default the shared transport of the process.
    public init(_ transport: any HTTPTransport = .shared) {
        var channel = NetworkChannel(transport: transport)
        channel.validation = .ok
        manager = NetworkManager(channel)
    }

    /// Creates a manager for a transport; the label is the document's.
    public init(urlSession transport: any HTTPTransport) {
        self.init(transport)
    }

    /// Performs a request; only a 200 is a success.
    ///
    /// - Throws: `NetworkClient.NetworkError`, which contains the response.
    public func perform(_ request: any RequestProtocol, authToken: String?) async throws -> Data {
        try await manager.data(for: request.createURLRequest(authToken: authToken))
    }
}

/// A type that performs requests and decodes the responses.
public protocol RequestManagerProtocol: Sendable {
    /// Performs a request and decodes the response with the request's decoder.
    ///
    /// - Throws: `NetworkError`; the errors of the API manager and of the decoder.
    func perform<Value: Decodable>(
        _ request: some RequestProtocol,
        authToken: String?
    ) async throws -> Value
}

/// Performs requests and decodes the responses.
public struct RequestManager: RequestManagerProtocol {
    private let apiManager: any APIManagerProtocol

    /// Creates a manager that performs requests with an API manager.
    public init(apiManager: any APIManagerProtocol = APIManager()) {
        self.apiManager = apiManager
    }

    /// Performs a request and decodes the response with the request's decoder.
    ///
    /// - Throws: `NetworkError.ServerError` if the status is not 200 and the server describes the error,
    ///   `NetworkError.invalidServerResponse` if it does not; other errors of the API manager and of the
    ///   decoder are rethrown.
    public func perform<Value: Decodable>(
        _ request: some RequestProtocol,
        authToken: String? = nil
    ) async throws -> Value {
        let decoder = request.decoder
        let data: Data
        do {
            data = try await apiManager.perform(request, authToken: authToken)
        } catch let error as NetworkClient.NetworkError where error.kind == .unacceptableResponse {
            guard let content = error.response?.content,
                let details = try? decoder.decode(ServerError.self, from: content)
            else { throw NetworkError.invalidServerResponse }
            throw NetworkError.ServerError(details)
        }
        return try decoder.decode(Value.self, from: data)
    }
}
