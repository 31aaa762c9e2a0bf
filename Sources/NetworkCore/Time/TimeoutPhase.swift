/// What may take too long, and the error it ends with: the one table of timeouts.
///
/// The time is measured where the wait is, since only there can it be ended: by the transport for
/// everything on an upstream connection, by the authorizer for a credential, by the daemon for what an app
/// sends and reads. `TimeLimit` does it for code that cannot.
package enum TimeoutPhase: Sendable, CaseIterable {
    // Towards the origin, in the order of an attempt.
    case queue, resolving, connecting, handshake, sending, awaitingHead, readingBody
    /// The exchange as a whole.
    case total
    /// The wait for a token.
    case credential
    // Towards the app.
    case requestHead, requestBody, requestBodyRate, delivery
    /// A tunnel in which nothing moves.
    case tunnel

    /// Whether nothing of the request was sent yet.
    fileprivate var isBeforeSending: Bool {
        switch self {
        case .resolving, .connecting, .handshake: true
        default: false
        }
    }
}

extension NetworkError {
    /// The error of what took too long.
    ///
    /// - Parameters:
    ///   - phase: what it was.
    ///   - peer: what the message calls the other side.
    ///   - retry: whether the request may be sent again; nil: only if it was not sent yet.
    /// - Returns: the error.
    package static func timeout(
        _ phase: TimeoutPhase,
        _ peer: String = "the upstream",
        retry: RetrySafety? = nil
    ) -> NetworkError {
        let (kind, side, detail): (ErrorKind, Side, String) =
            switch phase {
            case .queue:
                (
                    .connectionLimitReached, .proxy,
                    "all connections of the pool to \(peer) are busy: "
                        + "no connection became free in time"
                )
            case .resolving: (.dnsTimeout, .upstream, "resolving \(peer) took too long")
            case .connecting: (.connectionTimeout, .upstream, "connecting to \(peer) took too long")
            case .handshake:
                (.connectionTimeout, .upstream, "the TLS handshake with \(peer) took too long")
            case .sending:
                (.connectionWriteTimeout, .upstream, "\(peer) did not take the request in time")
            case .awaitingHead:
                (.httpResponseTimeout, .upstream, "\(peer) did not answer in time")
            case .readingBody:
                (
                    .connectionReadTimeout, .upstream,
                    "\(peer) stopped in the middle of its response"
                )
            case .total: (.httpResponseTimeout, .upstream, "the exchange took too long")
            case .credential:
                (
                    .httpResponseTimeout, .upstream,
                    "no token was obtained within the time limit of the exchange"
                )
            case .requestHead:
                (
                    .requestHeadTimeout, .downstream,
                    "the head of the request did not arrive in time"
                )
            case .requestBody:
                (.connectionReadTimeout, .downstream, "the request body stopped arriving")
            case .requestBodyRate:
                (
                    .requestBodyTimeout, .downstream,
                    "the request body arrives too slowly; see limits.body_rate"
                )
            case .delivery:
                (
                    .connectionWriteTimeout, .downstream,
                    "the client stopped reading the response"
                )
            case .tunnel:
                (.connectionReadTimeout, .proxy, "the tunnel was idle for too long")
            }
        return NetworkError(
            kind,
            side: side,
            retry: retry ?? (phase.isBeforeSending ? .safe : .unsafe),
            detail: detail,
            retryAfter: phase == .queue ? 1 : nil
        )
    }

    /// The error of an exchange that its deadline ended.
    ///
    /// - Parameter error: how the exchange ended, which knows whether the request had been sent.
    /// - Returns: `http_response_timeout`.
    package static func overdue(_ error: any Error) -> NetworkError {
        timeout(.total, retry: (error as? NetworkError)?.retry ?? .unsafe)
    }

    /// The error of an exchange that its deadline ended before anything was sent.
    package static var overdueUnsent: NetworkError { timeout(.total, retry: .safe) }
}
