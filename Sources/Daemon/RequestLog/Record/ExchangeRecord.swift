package import NetproxyHTTPMessage
package import NetworkCore

/// Everything that is logged about one exchange, as values; the line is formatted at the end.
///
/// Facts that are nil are left out of the line.
package struct ExchangeRecord: Sendable {
    /// When the request head was complete.
    package var time: WallTime
    /// Facts from interceptors and transport: the id, attempts, timings, the credential.
    package var context: RequestContext
    /// The id that the app gave its request, sent upstream in place of netproxy's.
    package var clientRequestID: String?
    /// The trace id, from the app's `traceparent` or one that netproxy started.
    package var traceID: String?
    /// The peer's address, or `unix`.
    package var client: String
    /// Who the peer is, if the kernel or a lent key tells it.
    package var identity: ClientIdentity?

    /// The method as sent by the app; empty if no request could be parsed.
    package var method: String
    /// The scheme of the upstream request; nil, like the host below, if no channel was found.
    package var scheme: String?
    /// The authority of the upstream request.
    package var host: String?
    /// Path and query of the upstream request, percent-encoded as they are sent; empty for CONNECT,
    /// and if no request could be parsed.
    package var target: String
    /// Path and query that the app asked for, if there is an upstream request; logged where the path
    /// differs.
    package var asked: String?
    /// The protocol version, such as `HTTP/1.1`.
    package var protocolVersion: String?

    /// The status sent to the app; nil if no response head was sent.
    package var status: HTTPStatus?
    /// The status of a gRPC call.
    package var rpcStatus: RPCStatus?
    /// Content bytes from the app.
    package var bytesIn = 0
    /// Content bytes to the app.
    package var bytesOut = 0
    /// From the complete request head to the last byte sent to the app.
    package var duration: Duration = .zero

    /// The error word, the same as in the response to the app.
    package var error: ErrorKind?
    /// The explanation of the error, as in the response to the app.
    package var detail: String?
    /// The side that ended the exchange early.
    package var abortedBy: AbortedBy?
    /// The request's fields that `log.headers` names.
    package var headers: [HTTPField] = []
    /// The response's fields that `log.headers` names.
    package var responseHeaders: [HTTPField] = []

    /// Creates the record of an exchange whose request head is complete.
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

    /// The path that the app asked for.
    package var askedPath: String { String(TargetPath(asked ?? target).path) }

    /// Whether it went wrong: netproxy failed or refused it, it was sent again, or the answer is a
    /// 401, a 403 or a 5xx.
    package var isTroubled: Bool {
        let code = status?.rawValue ?? 0
        return error != nil || code == 401 || code == 403 || code >= 500
            || !context.retries.isEmpty || context.authorization?.notReplayed != nil
            || rpcStatus?.isTrouble == true
    }

    /// The severity of the line.
    ///
    /// `error`: a 5xx, or a response cut short for any reason except that the app disconnected.
    /// `warning`: a 4xx (also one from netproxy), an app that disconnected, a repeated attempt, a
    /// 401 that could not be replayed, a gRPC call with a status other than OK. `info`: everything else.
    package var level: LogLevel {
        let code = status?.rawValue ?? 0
        if code >= 500 { return .error }
        if abortedBy == .client || code >= 400 { return .warning }
        if error != nil || abortedBy != nil { return .error }
        if !context.retries.isEmpty || context.authorization?.notReplayed != nil { return .warning }
        if let rpcStatus, rpcStatus.rawValue != 0 { return .warning }
        return .info
    }
}

/// Who sent a request.
///
/// A reference, since most records have none.
package final class ClientIdentity: Sendable {
    /// The peer's user id, on a unix socket.
    package let userID: UInt32?
    /// The id of the peer's process, on a unix socket.
    package let processID: Int32?
    /// The id of the lent key that the app has shown.
    package let key: String?

    /// Makes one of what is known.
    package init(userID: UInt32? = nil, processID: Int32? = nil, key: String? = nil) {
        (self.userID, self.processID, self.key) = (userID, processID, key)
    }
}

/// The side that ended an exchange early.
package enum AbortedBy: String, Sendable, CaseIterable {
    /// The app disconnected.
    case client
    /// The upstream closed or reset the connection, or broke the protocol.
    case upstream
    /// netproxy itself, because of a timeout, the end of the drain period or a limit.
    case proxy
}
