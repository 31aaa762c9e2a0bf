public import FoundationEssentials

/// The content of a request.
public enum HTTPTask: Sendable {
    /// No content.
    case plain
    /// A JSON body, encoded with the endpoint's or the channel's encoder.
    case json(any Encodable & Sendable)
    /// Parameters in the query.
    case query(any Encodable & Sendable)
    /// A JSON body, and parameters in the query.
    case jsonAndQuery(any Encodable & Sendable, query: any Encodable & Sendable)
    /// Parameters where the method has them: GET, HEAD and DELETE in the query, all others as a JSON
    /// body.
    case parameters(any Encodable & Sendable)
    /// A body of `application/x-www-form-urlencoded`.
    case form(any Encodable & Sendable)
    /// A body of `multipart/form-data` (RFC 7578).
    case multipart(MultipartForm)
    /// A body of `multipart/form-data`, and parameters in the query.
    case multipartAndQuery(MultipartForm, query: any Encodable & Sendable)
    /// Bytes as they are.
    case data(Data, contentType: String)
    /// The content of a file, read while it is sent, and again for each attempt: a file that has
    /// changed in between is `http_request_error`.
    case file(path: String, contentType: String)
    /// Content that is produced while it is sent; `length` where it is known in advance. Of an
    /// asynchronous sequence, a `SequenceBody`.
    ///
    /// Sent again where the channel has kept it (`NetworkChannel.replayLimit`), or where the source is a
    /// `RepeatableBodySource`.
    case stream(any BodySource, length: Int? = nil, contentType: String)
}

extension HTTPTask {
    /// A text, as `text/plain` in UTF-8.
    public static func text(_ text: String) -> HTTPTask {
        .data(Data(text.utf8), contentType: "text/plain; charset=utf-8")
    }
}

extension HTTPTask {
    /// Parameters where the method has them, of values whose types are known at run time only; one that
    /// cannot be encoded is an error of the request, with its name.
    public static func parameters(any values: [String: Any]) -> HTTPTask {
        .parameters(LateParameters(values))
    }

    /// Parameters in the query, as `parameters(any:)`.
    public static func query(any values: [String: Any]) -> HTTPTask {
        .query(LateParameters(values))
    }

    /// A JSON body, and parameters in the query, as `parameters(any:)`.
    public static func jsonAndQuery(
        _ body: any Encodable & Sendable,
        any values: [String: Any]
    ) -> HTTPTask {
        .jsonAndQuery(body, query: LateParameters(values))
    }

    /// A form, and parameters in the query, as `parameters(any:)`.
    public static func multipartAndQuery(
        _ form: MultipartForm,
        any values: [String: Any]
    ) -> HTTPTask {
        .multipartAndQuery(form, query: LateParameters(values))
    }
}

/// Parameters whose encoding throws an error.
private struct LateParameters: Encodable, Sendable {
    private let parameters: Result<Parameters, NetworkError>

    init(_ values: [String: Any]) {
        parameters = Result { () throws(NetworkError) in try Parameters(values) }
    }

    func encode(to encoder: any Encoder) throws { try parameters.get().encode(to: encoder) }
}
