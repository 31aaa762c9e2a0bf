/// Collects the pieces of `RequestBuilder { … }`, with `if`, `switch` and `for` among them.
@resultBuilder
public enum RequestComposer {
    /// A change of a builder.
    public typealias Step = (RequestBuilder) -> RequestBuilder

    /// A piece.
    public static func buildExpression(_ part: some RequestPart) -> Step { part.apply }

    /// All properties of an endpoint; they replace those set before.
    public static func buildExpression(_ endpoint: some Endpoint) -> Step {
        { $0.endpoint(endpoint) }
    }

    /// The base URL of the API.
    public static func buildExpression(_ baseURL: BaseURL) -> Step { { $0.baseURL(baseURL) } }

    /// The method.
    public static func buildExpression(_ method: HTTPMethod) -> Step { { $0.method(method) } }

    /// The content: JSON, a form, bytes, a text, a file.
    public static func buildExpression(_ task: HTTPTask) -> Step { { $0.task(task) } }

    /// Parameters for the query.
    public static func buildExpression(_ query: QueryItems) -> Step { { $0.query(query) } }

    /// Pieces one after the other.
    public static func buildBlock(_ steps: Step...) -> Step {
        { builder in steps.reduce(builder) { $1($0) } }
    }

    /// An `if` without `else`.
    public static func buildOptional(_ step: Step?) -> Step { step ?? { $0 } }

    /// An `if`.
    public static func buildEither(first step: @escaping Step) -> Step { step }

    /// An `else`.
    public static func buildEither(second step: @escaping Step) -> Step { step }

    /// A loop.
    public static func buildArray(_ steps: [Step]) -> Step {
        { builder in steps.reduce(builder) { $1($0) } }
    }

    /// An `if #available`.
    public static func buildLimitedAvailability(_ step: @escaping Step) -> Step { step }
}

extension RequestBuilder {
    /// Composes a request piece by piece.
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
    /// All checks happen in `build()`; no input traps.
    public init(@RequestComposer _ parts: () throws -> RequestComposer.Step) rethrows {
        self = try parts()(RequestBuilder())
    }
}
