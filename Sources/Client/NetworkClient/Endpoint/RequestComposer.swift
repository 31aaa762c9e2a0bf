/// Combines the parts of `RequestBuilder { … }`, including `if`, `switch` and `for`.
@resultBuilder
public enum RequestComposer {
    /// A change of a builder.
    public typealias Step = (RequestBuilder) -> RequestBuilder

    /// Adds a part.
    public static func buildExpression(_ part: some RequestPart) -> Step { part.apply }

    /// Adds all settings of an endpoint; they replace earlier ones.
    public static func buildExpression(_ endpoint: some Endpoint) -> Step {
        { $0.endpoint(endpoint) }
    }

    /// Sets the base URL of the API.
    public static func buildExpression(_ baseURL: BaseURL) -> Step { { $0.baseURL(baseURL) } }

    /// Sets the method.
    public static func buildExpression(_ method: HTTPMethod) -> Step { { $0.method(method) } }

    /// Sets the content: JSON, a form, bytes, a text or a file.
    public static func buildExpression(_ task: HTTPTask) -> Step { { $0.task(task) } }

    /// Adds query parameters.
    public static func buildExpression(_ query: QueryItems) -> Step { { $0.query(query) } }

    /// Combines consecutive parts.
    public static func buildBlock(_ steps: Step...) -> Step {
        { builder in steps.reduce(builder) { $1($0) } }
    }

    /// Supports `if` without `else`.
    public static func buildOptional(_ step: Step?) -> Step { step ?? { $0 } }

    /// Supports the first branch of `if` and `switch`.
    public static func buildEither(first step: @escaping Step) -> Step { step }

    /// Supports the other branches of `if` and `switch`.
    public static func buildEither(second step: @escaping Step) -> Step { step }

    /// Supports loops.
    public static func buildArray(_ steps: [Step]) -> Step {
        { builder in steps.reduce(builder) { $1($0) } }
    }

    /// Supports `if #available`.
    public static func buildLimitedAvailability(_ step: @escaping Step) -> Step { step }
}

extension RequestBuilder {
    /// Composes a request from parts.
    ///
    ///     let builder = RequestBuilder {
    ///         URLScheme(.https)
    ///         URLHost("api.example.com")
    ///         URLPath("/v1/orders")
    ///         if isLate { Headers(append: ["Prefer": "respond-async"]) }
    ///         HTTPMethod.post
    ///         HTTPTask.json(["item": "lamp"])
    ///     }
    ///
    /// All checks happen in `build()`; invalid input never traps.
    public init(@RequestComposer _ parts: () throws -> RequestComposer.Step) rethrows {
        self = try parts()(RequestBuilder())
    }
}
