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
