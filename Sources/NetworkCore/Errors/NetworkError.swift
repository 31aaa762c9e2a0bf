/// A failed exchange, as facts: what, on whose side, and whether it may be tried again.
public struct NetworkError: Error, Sendable, CustomStringConvertible {
    /// Whose side the fault is on.
    public enum Side: String, Sendable {
        case upstream, downstream, proxy
    }

    /// Whether sending the request again can do no harm.
    public enum RetrySafety: Sendable {
        /// Nothing of the request can have been acted on.
        case safe
        /// Sent on a pooled connection that the peer may have closed before it saw the request:
        /// safe on a fresh connection if the method is idempotent.
        case idempotentOnly
        /// The request may have been acted on, or its body is spent.
        case unsafe
    }

    /// What went wrong.
    public let kind: ErrorKind
    /// Whose side the fault is on.
    public let side: Side
    /// Whether a retry is safe.
    public let retry: RetrySafety
    /// One clause a person can act on, without secrets.
    public let detail: String
    /// The status to answer with, where the kind leaves a choice (`http_request_error`).
    public var status: HTTPStatus?
    /// When to try again, in seconds, where that is known.
    public var retryAfter: Int?

    /// Records a failure.
    public init(
        _ kind: ErrorKind,
        side: Side,
        retry: RetrySafety = .unsafe,
        detail: String,
        status: HTTPStatus? = nil,
        retryAfter: Int? = nil
    ) {
        self.kind = kind
        self.side = side
        self.retry = retry
        self.detail = detail
        self.status = status
        self.retryAfter = retryAfter
    }

    /// The kind and the detail.
    public var description: String { "\(kind.rawValue): \(detail)" }

    static func tooLarge(limit: Int) -> NetworkError {
        NetworkError(
            .httpResponseBodySize,
            side: .upstream,
            detail: "the content is longer than the \(limit) bytes that were asked for"
        )
    }
}
