public import FoundationEssentials

/// The content of a request.
public enum HTTPTask: Sendable {
    /// No content.
    case plain
    /// A JSON body, encoded with the endpoint's or the channel's encoder.
    case json(any Encodable & Sendable)
    /// Query parameters.
    case query(any Encodable & Sendable)
    /// A JSON body, and query parameters.
    case jsonAndQuery(any Encodable & Sendable, query: any Encodable & Sendable)
    /// Parameters in the usual place for the method: the query for GET, HEAD and DELETE, else a JSON body.
    case parameters(any Encodable & Sendable)
    /// A body of type `application/x-www-form-urlencoded`.
    case form(any Encodable & Sendable)
    /// A body of type `multipart/form-data` (RFC 7578).
    case multipart(MultipartForm)
    /// A body of type `multipart/form-data`, and query parameters.
    case multipartAndQuery(MultipartForm, query: any Encodable & Sendable)
    /// Unchanged bytes.
    case data(Data, contentType: String = "application/octet-stream")
    /// The content of a file, read while it is sent, and again for each attempt.
    ///
    /// If the file has changed in between, the call throws `http_request_error`.
    case file(path: String, contentType: String = "application/octet-stream")
    /// Content that is produced while it is sent; `length` is set if it is known in advance.
    ///
    /// Use a `SequenceBody` for an asynchronous sequence. The content is sent again only if the channel has
    /// kept it
    /// (`NetworkChannel.replayLimit`), or if the source is a `RepeatableBodySource`.
    case stream(any BodySource, length: Int? = nil, contentType: String)
}

extension HTTPTask {
    /// Returns a text as `text/plain` in UTF-8.
    public static func text(_ text: String) -> HTTPTask {
        .data(Data(text.utf8), contentType: "text/plain; charset=utf-8")
    }
}

extension HTTPTask {
    /// Returns `parameters` with values whose types are known at run time only.
    ///
    /// If a value cannot be encoded, building the request throws an error with its name.
    public static func parameters(any values: [String: Any]) -> HTTPTask {
        .parameters(LateParameters(values))
    }

    /// Returns `query` with values as in `parameters(any:)`.
    public static func query(any values: [String: Any]) -> HTTPTask {
        .query(LateParameters(values))
    }

    /// Returns `jsonAndQuery` with query values as in `parameters(any:)`.
    public static func jsonAndQuery(
        _ body: any Encodable & Sendable,
        any values: [String: Any]
    ) -> HTTPTask {
        .jsonAndQuery(body, query: LateParameters(values))
    }

    /// Returns `multipartAndQuery` with query values as in `parameters(any:)`.
    public static func multipartAndQuery(
        _ form: MultipartForm,
        any values: [String: Any]
    ) -> HTTPTask {
        .multipartAndQuery(form, query: LateParameters(values))
    }
}

/// Parameters that throw their error only when they are encoded.
private struct LateParameters: Encodable, Sendable {
    private let parameters: Result<Parameters, NetworkError>

    init(_ values: [String: Any]) {
        parameters = Result { () throws(NetworkError) in try Parameters(values) }
    }

    func encode(to encoder: any Encoder) throws { try parameters.get().encode(to: encoder) }
}
