package import HTTPMessage
package import NetworkCore

/// Everything the log says about one exchange, as values: nothing is formatted before the exchange
/// is over.
///
/// Absent facts stay absent in the line.
package struct ExchangeRecord: Sendable {
    /// When the request head was complete.
    package var time: WallTime
    /// What interceptors and transport found out: the id, the attempts, their timings, the credential.
    package var context: RequestContext
    /// The id that the app gave its request, which went upstream in the place of ours.
    package var clientRequestID: String?
    /// The trace it belongs to, from `traceparent` or our own.
    package var traceID: String?
    /// The peer's address, or `unix`.
    package var client: String
    /// The peer's user, where the kernel tells it.
    package var clientUID: UInt32?

    /// The method, as it stood on the request line; empty for what was no request.
    package var method: String
    /// The scheme of the upstream request; absent, like the four below, where none was made out.
    package var scheme: String?
    /// The authority of the upstream request.
    package var host: String?
    /// Path and query of the upstream request, percent-encoded as they are sent; empty for CONNECT
    /// and for what was no request.
    package var target: String
    /// Such as `HTTP/1.1`.
    package var protocolVersion: String?

    /// What the app got; nothing if no head reached it.
    package var status: HTTPStatus?
    /// Content bytes from the app.
    package var bytesIn = 0
    /// Content bytes to the app.
    package var bytesOut = 0
    /// From the complete head to the last byte to the app.
    package var duration: Duration = .zero

    /// The error's word, the same that the app got.
    package var error: ErrorKind?
    /// What a person should know of the error, in the words of the answer.
    package var detail: String?
    /// Which side ended the exchange early.
    package var abortedBy: AbortedBy?
    /// The request's fields that `log.headers` names.
    package var headers: [HTTPField] = []
    /// The response's fields that `log.headers` names.
    package var responseHeaders: [HTTPField] = []

    /// Begins the record of an exchange, as soon as its head is complete.
    package init(
        time: WallTime,
        requestID: String,
        client: String,
        method: String,
        target: String
    ) {
        self.time = time
        context = RequestContext(requestID: requestID)
        self.client = client
        self.method = method
        self.target = target
    }

    /// The path of the upstream request.
    package var path: String { String(TargetPath(target).path) }
    /// The query of the upstream request, without the question mark.
    package var query: String? { TargetPath(target).query.map(String.init) }

    /// How much the line matters.
    ///
    /// `error`: the app got a 5xx, or the response broke off for another reason than the app's own
    /// leaving. `warning`: a 4xx (a refusal by netproxy included), an app that left early, an
    /// attempt that had to be repeated, a 401 that could not be replayed. `info`: the rest.
    package var level: LogLevel {
        let code = status?.rawValue ?? 0
        if code >= 500 { return .error }
        if abortedBy == .client || code >= 400 { return .warning }
        if error != nil || abortedBy != nil { return .error }
        if !context.retries.isEmpty || context.authorization?.notReplayed != nil { return .warning }
        return .info
    }
}
