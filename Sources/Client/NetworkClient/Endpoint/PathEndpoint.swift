public import FoundationEssentials

/// An endpoint as a value, for operations without a type of their own.
///
///     let status = PathEndpoint("/status", of: "https://api.example.com")
public struct PathEndpoint: Endpoint {
    /// The base URL of the API.
    public var baseURL: BaseURL
    /// The path below the base URL.
    public var path: String
    /// The method.
    public var method: HTTPMethod
    /// The content of the request.
    public var task: HTTPTask
    /// The fields of this endpoint.
    public var headers: HTTPHeaders
    /// The maximum duration of the whole call.
    public var timeout: Duration?
    /// The use of the channel's credential.
    public var authorization: AuthorizationRequirement
    /// The content of a stub's response.
    public var sampleData: Data = Data()

    /// Creates an endpoint.
    public init(
        _ path: String,
        of baseURL: BaseURL,
        method: HTTPMethod = .get,
        task: HTTPTask = .plain,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        authorization: AuthorizationRequirement = .optional
    ) {
        self.method = method
        self.path = path
        self.baseURL = baseURL
        self.task = task
        self.headers = headers
        self.timeout = timeout
        self.authorization = authorization
    }
}
