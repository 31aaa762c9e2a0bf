/// A request to an origin.
public struct Request: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The origin that receives the request.
    ///
    /// `Host` is derived from it when the request is sent.
    public var origin: Origin
    /// The path and query in origin-form, or the `*` of OPTIONS.
    ///
    /// It is sent byte for byte; visible ASCII that starts with `/`.
    public var target: String
    /// The field section, without `Host` and framing fields, which the transport writes.
    ///
    /// `Upgrade` and `TE: trailers` are the only hop-by-hop fields allowed here; the transport adds the
    /// corresponding
    /// `Connection` field.
    public var headers: HTTPHeaders
    /// The content.
    public var body: HTTPBody

    /// Whether repeating the request has the same effect as sending it once.
    ///
    /// The method is idempotent (RFC 9110 §9.2.2), or a field `Idempotency-Key` (or `X-Idempotency-Key`) lets
    /// the server recognize the repetition, as in Go's `net/http`.
    public var isIdempotent: Bool {
        method.isIdempotent || headers.contains(Request.idempotencyKey)
            || headers.contains(Request.olderIdempotencyKey)
    }

    private static let idempotencyKey: HTTPFieldName = "Idempotency-Key"
    private static let olderIdempotencyKey: HTTPFieldName = "X-Idempotency-Key"

    /// Creates a request.
    public init(
        method: HTTPMethod = .get,
        origin: Origin,
        target: String,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .empty
    ) {
        self.method = method
        self.origin = origin
        self.target = target
        self.headers = headers
        self.body = body
    }
}
