public import FoundationEssentials

/// An endpoint as a value, for operations that need no type of their own.
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
    /// Fields of this endpoint.
    public var headers: HTTPHeaders
    /// The maximum duration of the whole call.
    public var timeout: Duration?
    /// Whether the request carries the channel's credential.
    public var authorization: AuthorizationRequirement
    /// The response of a stub.
    public var sampleData: Data = Data()

    /// Describes an operation.
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
