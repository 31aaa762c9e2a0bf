public import FoundationEssentials

/// One operation of an API, described: usually a case of an enum with its parameters as associated
/// values, or a struct.
///
/// Only the base URL and the path have no default.
public protocol Endpoint: Sendable, CustomStringConvertible {
    /// The base URL of the API.
    var baseURL: BaseURL { get }
    /// The path below the base URL, with or without a slash in front.
    ///
    /// Text: what no path may hold is percent-encoded, `#` too; `%2F` and its like stay as they are, and what
    /// follows a `?` goes into the query, in front of the task's. Put values in with
    /// `\(segment: value)`, which leaves no byte of theirs a meaning.
    var path: String { get }
    /// The method.
    ///
    /// Default GET.
    var method: HTTPMethod { get }
    /// The content of the request.
    ///
    /// Default `nil`.
    var task: HTTPTask { get }
    /// Fields of this endpoint; they win over the channel's defaults.
    ///
    /// Default none. Values may come from anywhere: a request with one that no field may hold is refused,
    /// with the name of the field.
    var headers: HTTPHeaders { get throws }
    /// The maximum duration of the whole call.
    ///
    /// Default: the setting of the channel.
    var timeout: Duration? { get }
    /// Whether the request carries the channel's credential.
    ///
    /// Default `optional`.
    var authorization: AuthorizationRequirement { get }
    /// The responses that count as a success.
    ///
    /// Default: the rule of the channel, which is 2xx by default.
    var validation: SuccessRule? { get }
    /// Decodes the content.
    ///
    /// Default: the setting of the channel.
    var decoder: (any ContentDecoding)? { get }
    /// Encodes JSON bodies.
    ///
    /// Default: the setting of the channel.
    var encoder: JSONEncoder? { get }
    /// Encodes queries and forms.
    ///
    /// Default: the setting of the channel.
    var formEncoder: URLFormEncoder? { get }
    /// The response of a stub.
    ///
    /// Default `nil`.
    var sampleData: Data { get }
    /// The response of a stub.
    ///
    /// Default 200 with `sampleData`.
    var sampleResponse: SampleResponse { get }
}

extension Endpoint {
    /// GET.
    public var method: HTTPMethod { .get }
    /// `nil`.
    public var task: HTTPTask { .plain }
    /// None.
    public var headers: HTTPHeaders { [:] }
    /// The setting of the channel.
    public var timeout: Duration? { nil }
    /// Signed where the channel can sign.
    public var authorization: AuthorizationRequirement { .optional }
    /// The setting of the channel.
    public var validation: SuccessRule? { nil }
    /// The setting of the channel.
    public var decoder: (any ContentDecoding)? { nil }
    /// The setting of the channel.
    public var encoder: JSONEncoder? { nil }
    /// The setting of the channel.
    public var formEncoder: URLFormEncoder? { nil }
    /// `nil`.
    public var sampleData: Data { Data() }
    /// 200 with `sampleData`.
    public var sampleResponse: SampleResponse { .data(sampleData) }

    /// Base URL and path as one text, without the query.
    public var url: String {
        let path = String(TargetPath(path).path)
        return baseURL.path.isEmpty && baseURL.origin == nil
            ? "\(baseURL)\(path)"
            : "\(baseURL.origin?.description ?? "")\(PercentEncoding.join(baseURL.path, path))"
    }

    /// Method and URL, without the query: no secret belongs in a path.
    public var description: String { "\(method) \(url)" }
}

extension DefaultStringInterpolation {
    /// Puts a value into a path as one segment: everything but unreserved characters is
    /// percent-encoded (RFC 3986 §2.3), a slash and a percent sign too.
    ///
    /// `.` and `..` are no segments but steps (§3.3), however they are written: a path that has them
    /// from here is refused when the request is built.
    public mutating func appendInterpolation(segment value: some CustomStringConvertible) {
        let text = value.description
        let isStep = text == "." || text == ".."
        appendLiteral(
            isStep ? text.replacing(".", with: "%2E") : PercentEncoding.unreserved(text)
        )
    }
}

/// Whether a request carries the channel's credential.
public enum AuthorizationRequirement: String, Sendable, Hashable, CaseIterable {
    /// It must: without an authorizer or a credential the request is not sent.
    case required
    /// It does where the channel has an authorizer; it goes without where that wants a person to sign in
    /// first (`reauthorization_required`).
    ///
    /// A credential that is only out of reach for the moment (`credential_unavailable`) is an error
    /// here too.
    case optional
    /// It never does: sign-in pages, public content.
    ///
    /// Not `none`, which in the place of an optional requirement would be no requirement at all.
    case never
}
