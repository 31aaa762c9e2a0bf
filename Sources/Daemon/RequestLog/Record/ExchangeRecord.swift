package import NetproxyHTTPMessage
package import NetworkCore

/// The logged facts of one exchange, as values; the line is formatted at the end.
///
/// Facts that are nil are omitted from the line.
package struct ExchangeRecord: Sendable {
    /// The time at which the request head was complete.
    package var time: WallTime
    /// Facts from interceptors and transport: the ID, attempts, timings, the credential.
    package var context: RequestContext
    /// The ID from the client's request, sent upstream instead of netproxy's.
    package var clientRequestID: String?
    /// The trace ID, from the client's `traceparent` or started by netproxy.
    package var traceID: String?
    /// The peer's address, or `unix`.
    package var client: String
    /// The identity of the peer, if the kernel or a lent key reveals it.
    package var identity: ClientIdentity?

    /// The method in the client's request; empty if the request could not be parsed.
    package var method: String
    /// The scheme of the upstream request; nil, like the host below, if no channel was found.
    package var scheme: String?
    /// The authority of the upstream request.
    package var host: String?
    /// Path and query of the upstream request, percent-encoded as sent.
    ///
    /// Empty for CONNECT, and if the request could not be parsed.
    package var target: String
    /// Path and query in the client's request, if there is an upstream request; logged if the path differs.
    package var asked: String?
    /// The protocol version, such as `HTTP/1.1`.
    package var protocolVersion: String?

    /// The status sent to the client; nil if no response head was sent.
    package var status: HTTPStatus?
    /// The status of a gRPC call.
    package var rpcStatus: RPCStatus?
    /// Content bytes from the client.
    package var bytesIn = 0
    /// Content bytes to the client.
    package var bytesOut = 0
    /// The duration from the complete request head to the last byte sent to the client.
    package var duration: Duration = .zero

    /// The error word, the same as in the response to the client.
    package var error: ErrorKind?
    /// The explanation of the error, as in the response to the client.
    package var detail: String?
    /// The side that ended the exchange early.
    package var abortedBy: AbortedBy?
    /// The request fields listed in `log.headers`.
    package var headers: [HTTPField] = []
    /// The response fields listed in `log.headers`.
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

    /// The path in the client's request.
    package var askedPath: String { String(TargetPath(asked ?? target).path) }

    /// Whether the exchange had a problem: netproxy failed or refused it, it was sent again, or the response
    /// is a 401, a 403 or a 5xx.
    package var isTroubled: Bool {
        let code = status?.rawValue ?? 0
        return error != nil || code == 401 || code == 403 || code >= 500
            || !context.retries.isEmpty || context.authorization?.notReplayed != nil
            || rpcStatus?.isTrouble == true
    }

    /// The severity of the line.
    ///
    /// `error`: a 5xx, or a response cut short for any reason except that the client disconnected. `warning`:
    /// a 4xx (also one from netproxy), a disconnected client, a repeated attempt, a 401 that could not be
    /// replayed, a gRPC call with a status other than OK. `info`: everything else.
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

/// The identity of a request's sender.
///
/// A class, because most records have none.
package final class ClientIdentity: Sendable {
    /// The peer's user ID, on a Unix socket.
    package let userID: UInt32?
    /// The ID of the peer's process, on a Unix socket.
    package let processID: Int32?
    /// The ID of the lent key in the client's request.
    package let key: String?

    /// Makes an identity from the known facts.
    package init(userID: UInt32? = nil, processID: Int32? = nil, key: String? = nil) {
        (self.userID, self.processID, self.key) = (userID, processID, key)
    }
}

/// The side that ended an exchange early.
package enum AbortedBy: String, Sendable, CaseIterable {
    /// The client disconnected.
    case client
    /// The upstream closed or reset the connection, or broke the protocol.
    case upstream
    /// netproxy itself, because of a timeout, the end of the drain period or a limit.
    case proxy
}
