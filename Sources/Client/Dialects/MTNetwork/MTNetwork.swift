public import FoundationEssentials
@_exported public import NetworkClient

// The names of MTNetwork for types that the library names differently: a target as in Moya, six tasks, a
// provider.

/// The error of a call.
public typealias MTError = NetworkError
/// A field of a request.
public typealias HTTPHeader = NetworkClient.HTTPField
/// A part of a form.
public typealias MultipartFormData = MultipartForm.Part

extension HTTPHeader {
    /// Creates a field; an invalid name or value makes the request fail.
    public init(name: String, value: String) {
        self.init(checking: HTTPFieldName(stringLiteral: name), value)
    }

    /// Returns an `Authorization` field with an unchanged value; an invalid value makes the request fail.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }
}

/// The content and parameters of a request.
public enum HTTPTask {
    /// No content.
    case requestPlain
    /// A JSON body.
    case requestJSONEncodable(any Encodable & Sendable)
    /// Parameters in the query.
    case requestParameters([String: Any])
    /// A JSON body, and parameters in the query.
    case requestCompositeParameters(body: any Encodable & Sendable, query: [String: Any])
    /// A multipart form.
    case uploadMultipart([MultipartFormData])
    /// A multipart form, and parameters in the query.
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
    /// The base URL of the API.
    var baseURL: URL { get }
    /// The path below the base URL.
    var path: String { get }
    /// The method.
    var method: HTTPMethod { get }
    /// The content and parameters.
    var task: HTTPTask { get }
    /// The request fields.
    var headers: HTTPHeaders { get }
    /// The timeout of the whole call, in seconds.
    var requestTimeout: Float { get }
    /// The content of a stubbed response.
    var sampleData: Data? { get }
}

extension Requestable {
    /// No content.
    public var task: HTTPTask { .requestPlain }
    /// No fields.
    public var headers: HTTPHeaders { [:] }
    /// A timeout of 60 s.
    public var requestTimeout: Float { 60 }
    /// No sample.
    public var sampleData: Data? { nil }
}

/// A request as a library endpoint.
public struct EndPoint: Endpoint {
    /// The base URL of the API.
    public let baseURL: BaseURL
    /// The path below the base URL.
    public let path: String
    /// The method.
    public let method: HTTPMethod
    /// The content and parameters.
    public let task: NetworkClient.HTTPTask
    /// The request fields.
    public let headers: HTTPHeaders
    /// The timeout of the whole call.
    public let timeout: Duration?
    /// The content of a stubbed response.
    public let sampleData: Data

    /// Creates an endpoint from a request.
    public init(_ request: some Requestable) {
        baseURL = BaseURL(request.baseURL)
        path = request.path
        method = request.method
        task = request.task.task
        headers = request.headers
        timeout = .seconds(Double(request.requestTimeout))
        sampleData = request.sampleData ?? Data()
    }

    /// Returns the request in the form in which it is sent.
    ///
    /// - Throws: `http_request_error`, which describes the fault of the request.
    public func urlRequest() throws(MTError) -> Request { try RequestBuilder(self).build() }
}

/// Sends requests and waits for their responses.
public protocol Providable {
    /// The type of the requests.
    associatedtype Target: Requestable
    /// Sends a request; only 2xx is returned.
    ///
    /// - Throws: `MTError`.
    func request(_ request: Target) async throws(MTError) -> Response
}

/// Sends requests over a channel.
public struct Provider<Target: Requestable>: Providable, Sendable {
    private let manager: NetworkManager<EndPoint>

    /// Creates a provider for a channel; the default channel has no host and uses the shared transport of the
    /// process.
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
    /// The response as a library type.
    public let whole: WholeResponse
    /// The status.
    public var statusCode: Int { whole.status.rawValue }
    /// The status and the fields.
    public var response: HTTPURLResponse? {
        HTTPURLResponse(statusCode: statusCode, headers: whole.headers)
    }
    /// The content.
    public var data: Data { whole.data }
    /// The status and the length of the content.
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

/// The status and the fields of a response, under the name that Foundation uses.
public struct HTTPURLResponse: Sendable {
    /// The status.
    public let statusCode: Int
    /// The fields.
    public let headers: HTTPHeaders
    /// The fields by name, in the spelling of the first line; the lines of a name are joined by a comma.
    public var allHeaderFields: [String: String] {
        var fields: [HTTPFieldName: String] = [:]
        for field in headers {
            fields[field.name] = fields[field.name].map { "\($0), \(field.value)" } ?? field.value
        }
        return Dictionary(uniqueKeysWithValues: fields.map { ($0.key.text, $0.value) })
    }

    /// Returns the value of a field, without regard to the case of its name.
    public func value(forHTTPHeaderField field: String) -> String? {
        guard let name = HTTPFieldName(field), headers.contains(name) else { return nil }
        return headers.values(of: name).joined(separator: ", ")
    }
}
