public import FoundationEssentials
@_exported public import NetworkClient

// The names of MTNetwork for what the library calls otherwise: a target as in Moya, six tasks, a provider.

/// The error of a call.
public typealias MTError = NetworkError
/// A field of a request.
public typealias HTTPHeader = NetworkClient.HTTPField
/// A part of a form.
public typealias MultipartFormData = MultipartForm.Part

extension HTTPHeader {
    /// `Authorization` with a value as it is; one that no field may hold is an error of the request.
    public static func authorization(_ value: String) -> HTTPHeader {
        Array(HTTPHeaders(["Authorization": value]))[0]
    }
}

/// What a request carries.
public enum HTTPTask {
    /// Nothing.
    case requestPlain
    /// A JSON body.
    case requestJSONEncodable(any Encodable & Sendable)
    /// Parameters in the query.
    case requestParameters([String: Any])
    /// A JSON body, and parameters in the query.
    case requestCompositeParameters(body: any Encodable & Sendable, query: [String: Any])
    /// A form of parts.
    case uploadMultipart([MultipartFormData])
    /// A form of parts, and parameters in the query.
    case uploadCompositeMultipart([MultipartFormData], query: [String: Any])

    var task: NetworkClient.HTTPTask {
        switch self {
        case .requestPlain: .plain
        case .requestJSONEncodable(let body): .json(body)
        case .requestParameters(let query): .query(any: query)
        case .requestCompositeParameters(let body, let query): .jsonAndQuery(body, any: query)
        case .uploadMultipart(let parts): .multipart(MultipartForm(parts))
        case .uploadCompositeMultipart(let parts, let query):
            .multipartAndQuery(MultipartForm(parts), any: query)
        }
    }
}

/// One request of an API.
public protocol Requestable {
    /// Where the API lives.
    var baseURL: URL { get }
    /// The path below it.
    var path: String { get }
    /// The method.
    var method: HTTPMethod { get }
    /// What it carries.
    var task: HTTPTask { get }
    /// Its fields.
    var headers: HTTPHeaders { get }
    /// How long the whole call may take, in seconds.
    var requestTimeout: Float { get }
    /// What a stub answers with.
    var sampleData: Data? { get }
}

extension Requestable {
    /// Nothing.
    public var task: HTTPTask { .requestPlain }
    /// None.
    public var headers: HTTPHeaders { [:] }
    /// 60 s.
    public var requestTimeout: Float { 60 }
    /// None.
    public var sampleData: Data? { nil }
}

/// A request as the library has it.
public struct EndPoint: Endpoint {
    /// Where the API lives.
    public let baseURL: BaseURL
    /// The path below it.
    public let path: String
    /// The method.
    public let method: HTTPMethod
    /// What it carries.
    public let task: NetworkClient.HTTPTask
    /// Its fields.
    public let headers: HTTPHeaders
    /// How long the whole call may take.
    public let timeout: Duration?
    /// What a stub answers with.
    public let sampleData: Data

    /// Takes a request over.
    public init(_ request: some Requestable) {
        baseURL = BaseURL(request.baseURL)
        path = request.path
        method = request.method
        task = request.task.task
        headers = request.headers
        timeout = .seconds(Double(request.requestTimeout))
        sampleData = request.sampleData ?? Data()
    }

    /// The request as it is sent.
    ///
    /// - Throws: `http_request_error` that says what is wrong with it.
    public func urlRequest() throws(MTError) -> Request { try RequestBuilder(self).build() }
}

/// Sends requests and waits for their responses.
public protocol Providable {
    /// What is sent.
    associatedtype Target: Requestable
    /// Sends a request; only 2xx is returned.
    ///
    /// - Throws: `MTError`.
    func request(_ request: Target) async throws(MTError) -> Response
}

/// Sends requests over a channel.
public struct Provider<Target: Requestable>: Providable, Sendable {
    private let manager: NetworkManager<EndPoint>

    /// Sends over a channel, by default one without a host over what the process shares.
    public init(_ channel: NetworkChannel = NetworkChannel(transport: .shared)) {
        manager = NetworkManager(channel)
    }

    /// Sends a request; only 2xx is returned.
    ///
    /// - Throws: `MTError`.
    public func request(_ request: Target) async throws(MTError) -> Response {
        Response(whole: try await manager.response(for: EndPoint(request)))
    }
}

/// A response with its content.
public struct Response: Sendable, CustomStringConvertible {
    /// The response as the library has it.
    public let whole: WholeResponse
    /// The status.
    public var statusCode: Int { whole.status.rawValue }
    /// The content.
    public var data: Data { whole.data }
    /// Status and length.
    public var description: String { "Status Code: \(statusCode), Data Length: \(data.count)" }

    /// Decodes the content.
    ///
    /// - Throws: `MTError` of the kind `undecodable_response`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self
    ) throws(MTError) -> Value {
        try whole.decode(type)
    }
}
