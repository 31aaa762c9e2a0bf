public import FoundationEssentials
@_exported public import NetworkClient

// The names of NetworkSession for what the library calls otherwise: an API manager that gives data, and a
// request manager that decodes it.

/// The method of a request.
public enum RequestType: String, Sendable {
    /// The methods.
    case GET, POST, PUT, PATCH, DELETE
}

/// What a server says of its error.
public struct ServerError: Decodable, Sendable, Equatable {
    /// What went wrong.
    public var message: String
    /// A number for it, if the server gives one.
    public var code: Int?
}

/// Why a request failed.
public enum NetworkError: Error {
    /// The status is not 200, and the content no `ServerError`.
    case invalidServerResponse
    /// The status is not 200, and the server says why.
    case ServerError(NetworkSession.ServerError)
    /// Any other failure, as the library has it.
    case failed(NetworkClient.NetworkError)
}

/// A request, described.
public protocol RequestProtocol {
    /// `https` or `http`.
    var scheme: Origin.Scheme { get }
    /// The host, perhaps with a port.
    var host: String { get }
    /// The path.
    var path: String { get }
    /// Its fields.
    var headers: [String: String] { get }
    /// A JSON body, if it is not empty.
    var params: [String: Any] { get }
    /// The query.
    var urlParams: [String: String?] { get }
    /// Whether it carries the token.
    var addAuthorizationToken: Bool { get }
    /// The method.
    var requestType: RequestType { get }
    /// Decodes the response.
    var decoder: JSONDecoder { get }
}

extension RequestProtocol {
    /// `https`.
    public var scheme: Origin.Scheme { .https }
    /// None.
    public var headers: [String: String] { [:] }
    /// None.
    public var params: [String: Any] { [:] }
    /// None.
    public var urlParams: [String: String?] { [:] }
    /// No.
    public var addAuthorizationToken: Bool { false }
    /// One with its defaults.
    public var decoder: JSONDecoder { JSONDecoder() }

    /// The request as it is sent.
    ///
    /// - Throws: `http_request_error` that says what is wrong with it.
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

/// Performs requests and gives back data.
public protocol APIManagerProtocol: Sendable {
    /// Performs a request; only a 200 is a success.
    ///
    /// - Throws: `NetworkClient.NetworkError`, which keeps the response.
    func perform(_ request: Request) async throws(NetworkClient.NetworkError) -> Data
}

/// Performs requests over a transport.
public struct APIManager: APIManagerProtocol {
    private let manager: NetworkManager<PathEndpoint>

    /// Performs over a transport, by default what the process shares.
    public init(_ transport: any HTTPTransport = .shared) {
        var channel = NetworkChannel(transport: transport)
        channel.validation = .ok
        manager = NetworkManager(channel)
    }

    /// Performs a request; only a 200 is a success.
    ///
    /// - Throws: `NetworkClient.NetworkError`, which keeps the response.
    public func perform(_ request: Request) async throws(NetworkClient.NetworkError) -> Data {
        try await manager.data(for: request)
    }
}

/// Performs requests and decodes what comes.
public struct RequestManager: Sendable {
    private let apiManager: any APIManagerProtocol

    /// Performs with an API manager.
    public init(apiManager: any APIManagerProtocol = APIManager()) {
        self.apiManager = apiManager
    }

    /// Performs a request and decodes the response with the request's decoder.
    ///
    /// - Throws: `NetworkError`; what the decoder throws.
    public func perform<Value: Decodable>(
        _ request: some RequestProtocol,
        authToken: String? = nil
    ) async throws -> Value {
        let decoder = request.decoder
        let data: Data
        do throws(NetworkClient.NetworkError) {
            data = try await apiManager.perform(try request.createURLRequest(authToken: authToken))
        } catch {
            guard error.kind == .unacceptableResponse else { throw NetworkError.failed(error) }
            guard let content = error.response?.content,
                let details = try? decoder.decode(ServerError.self, from: content)
            else { throw NetworkError.invalidServerResponse }
            throw NetworkError.ServerError(details)
        }
        return try decoder.decode(Value.self, from: data)
    }
}
