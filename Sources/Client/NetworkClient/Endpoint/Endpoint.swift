public import FoundationEssentials

/// A description of one operation of an API.
///
/// It is usually a case of an enum with its parameters as associated values, or a struct. Only the base URL
/// and
/// the path have no default.
public protocol Endpoint: Sendable, CustomStringConvertible {
    /// The base URL of the API.
    var baseURL: BaseURL { get }
    /// The path below the base URL, with or without a leading slash.
    ///
    /// Invalid characters are percent-encoded, including `#`; existing escapes such as `%2F` remain. The text
    /// after a
    /// `?` is added to the query before that of the task. Insert values with `\(segment: value)`, which
    /// encodes all
    /// reserved characters.
    var path: String { get }
    /// The method.
    ///
    /// Default GET.
    var method: HTTPMethod { get }
    /// The content of the request.
    ///
    /// Default: no content.
    var task: HTTPTask { get }
    /// The fields of this endpoint, which override the channel's defaults.
    ///
    /// Default none. The values may be untrusted: a request with an invalid value is refused, and the error
    /// names the
    /// field.
    var headers: HTTPHeaders { get throws }
    /// The maximum duration of the whole call.
    ///
    /// Default: the setting of the channel.
    var timeout: Duration? { get }
    /// The maximum time without a byte of the response's content.
    ///
    /// Default: the setting of the channel.
    var stallTimeout: Duration? { get }
    /// Whether the request carries the channel's credential.
    ///
    /// Default `optional`.
    var authorization: AuthorizationRequirement { get }
    /// The responses that count as a success.
    ///
    /// Default: the rule of the channel, which is 2xx by default.
    var validation: SuccessRule? { get }
    /// The decoder of the content.
    ///
    /// Default: the setting of the channel.
    var decoder: (any ContentDecoding)? { get }
    /// The encoder of JSON bodies.
    ///
    /// Default: the setting of the channel.
    var encoder: JSONEncoder? { get }
    /// The encoder of queries and forms.
    ///
    /// Default: the setting of the channel.
    var formEncoder: URLFormEncoder? { get }
    /// The content of a stub's response.
    ///
    /// Default: empty.
    var sampleData: Data { get }
    /// The response of a stub.
    ///
    /// Default 200 with `sampleData`.
    var sampleResponse: SampleResponse { get }
}

extension Endpoint {
    /// The default, GET.
    public var method: HTTPMethod { .get }
    /// The default, no content.
    public var task: HTTPTask { .plain }
    /// The default, no fields.
    public var headers: HTTPHeaders { [:] }
    /// The setting of the channel.
    public var timeout: Duration? { nil }
    /// The setting of the channel.
    public var stallTimeout: Duration? { nil }
    /// The default; the request is authorized if the channel can authorize it.
    public var authorization: AuthorizationRequirement { .optional }
    /// The setting of the channel.
    public var validation: SuccessRule? { nil }
    /// The setting of the channel.
    public var decoder: (any ContentDecoding)? { nil }
    /// The setting of the channel.
    public var encoder: JSONEncoder? { nil }
    /// The setting of the channel.
    public var formEncoder: URLFormEncoder? { nil }
    /// The default, no content.
    public var sampleData: Data { Data() }
    /// The default, 200 with `sampleData`.
    public var sampleResponse: SampleResponse { .data(sampleData) }

    /// The base URL and path as one text, without the query.
    public var url: String {
        let path = String(TargetPath(path).path)
        return baseURL.path.isEmpty && baseURL.origin == nil
            ? "\(baseURL)\(path)"
            : "\(baseURL.origin?.description ?? "")\(PercentEncoding.join(baseURL.path, path))"
    }

    /// The method and URL, without the query; paths are expected to contain no secrets.
    public var description: String { "\(method) \(url)" }
}

extension DefaultStringInterpolation {
    /// Inserts a value into a path as one segment.
    ///
    /// All characters except unreserved ones are percent-encoded (RFC 3986 §2.3), including slashes and
    /// percent signs.
    /// `.` and `..` are not segments but steps (§3.3), in any spelling; a path with such a value is refused
    /// when the
    /// request is built.
    public mutating func appendInterpolation(segment value: some CustomStringConvertible) {
        let text = value.description
        let isStep = text == "." || text == ".."
        appendLiteral(
            isStep ? text.replacing(".", with: "%2E") : PercentEncoding.unreserved(text)
        )
    }
}

/// The use of the channel's credential in a request.
public enum AuthorizationRequirement: String, Sendable, Hashable, CaseIterable {
    /// The credential is required: without an authorizer or a credential, the request is not sent.
    case required
    /// The credential is used if the channel has an authorizer and a user has signed in, or no sign-in is
    /// needed.
    ///
    /// Before the first sign-in and after a sign-out, the request is sent without a credential. If the sign-in
    /// has ended (`reauthorization_required`), or the credential is temporarily unavailable
    /// (`credential_unavailable`), the call fails.
    case optional
    /// The credential is never used, as for sign-in pages and public content.
    ///
    /// Not named `none`, because on an optional requirement `.none` would mean `nil`.
    case never
}
