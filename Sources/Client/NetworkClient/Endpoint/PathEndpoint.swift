public import FoundationEssentials

/// An endpoint as a value, for what is not worth its own type.
///
///     let status = PathEndpoint("/status", of: "https://api.example.com")
public struct PathEndpoint: Endpoint {
    /// Where the API lives.
    public var baseURL: BaseURL
    /// The path below the base URL.
    public var path: String
    /// The method.
    public var method: HTTPMethod
    /// What the request carries.
    public var task: HTTPTask
    /// Fields of this endpoint.
    public var headers: HTTPHeaders
    /// How long the whole call may take.
    public var timeout: Duration?
    /// Whether the request carries the channel's credential.
    public var authorization: AuthorizationRequirement
    /// What a stub answers with.
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
