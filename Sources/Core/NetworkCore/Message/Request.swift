/// A request on its way to an origin.
public struct Request: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The origin that gets the request.
    ///
    /// `Host` is made from it when the request is sent.
    public var origin: Origin
    /// Path and query, in origin-form and byte for byte as sent: visible ASCII that starts with `/`,
    /// or the `*` of OPTIONS.
    public var target: String
    /// The field section, without `Host` and framing fields: these the transport writes.
    ///
    /// Of the fields for one hop, `Upgrade` and `TE: trailers` may be here: the transport writes the
    /// `Connection` field that goes with them.
    public var headers: HTTPHeaders
    /// The content.
    public var body: HTTPBody

    /// Makes a request.
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
