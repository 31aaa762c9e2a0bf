/// The phases that may take too long, with their errors: the one table of timeouts.
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

extension TimeoutPhase {
    /// The kind of the error, the side at fault, and the message without the limit.
    fileprivate func fault(of peer: String) -> (ErrorKind, NetworkError.Side, String) {
        switch self {
        case .queue:
            (
                .connectionLimitReached, .proxy,
                "all connections of the pool to \(peer) are busy: no connection became free"
            )
        case .resolving: (.dnsTimeout, .upstream, "the name of \(peer) was not resolved")
        case .connecting: (.connectionTimeout, .upstream, "no connection to \(peer) was made")
        case .handshake:
            (.connectionTimeout, .upstream, "the TLS handshake with \(peer) did not finish")
        case .sending:
            (.connectionWriteTimeout, .upstream, "\(peer) did not go on reading the request")
        case .awaitingHead:
            (.httpResponseTimeout, .upstream, "\(peer) sent no response head")
        case .readingBody:
            (
                .connectionReadTimeout, .upstream,
                "\(peer) stopped in the middle of its response"
            )
        case .total: (.httpResponseTimeout, .upstream, "the exchange was not complete")
        case .credential:
            (.httpResponseTimeout, .upstream, "no token was obtained")
        case .requestHead:
            (
                .requestHeadTimeout, .downstream,
                "the head of the request did not arrive"
            )
        case .requestBody:
            (.connectionReadTimeout, .downstream, "the request body stopped arriving")
        case .requestBodyRate:
            (.requestBodyTimeout, .downstream, "the request body arrives too slowly")
        case .delivery:
            (
                .connectionWriteTimeout, .downstream,
                "the client stopped reading the response"
            )
        case .tunnel:
            (.connectionReadTimeout, .proxy, "nothing moved in the tunnel")
        }
    }
}

extension NetworkError {
    /// Makes the error of a timeout.
    ///
    /// - Parameters:
    ///   - phase: the phase that took too long.
    ///   - peer: the name of the other side in the message.
    ///   - setting: the reached limit, for the message.
    ///   - retry: whether the request may be sent again; nil: only if it was not sent yet.
    /// - Returns: the error.
    package static func timeout(
        _ phase: TimeoutPhase,
        _ peer: String = "the upstream",
        after setting: TimeSetting? = nil,
        retry: RetrySafety? = nil
    ) -> NetworkError {
        let (kind, side, fact) = phase.fault(of: peer)
        return NetworkError(
            kind,
            side: side,
            retry: retry ?? (phase.isBeforeSending ? .safe : .unsafe),
            detail: setting.map { "\($0.clause): \(fact)" } ?? "\(fact) in time",
            retryAfter: phase == .queue ? 1 : nil
        )
    }

    /// Makes the error of an exchange that its deadline ended.
    ///
    /// - Parameters:
    ///   - error: the error that ended the exchange, with its retry safety.
    ///   - setting: the limit of the exchange, for the message.
    /// - Returns: `http_response_timeout`.
    package static func overdue(_ error: any Error, after setting: TimeSetting?) -> NetworkError {
        timeout(.total, after: setting, retry: (error as? NetworkError)?.retry ?? .unsafe)
    }

    /// Makes the error of an exchange that its deadline ended before any byte was sent.
    package static func overdueUnsent(after setting: TimeSetting?) -> NetworkError {
        timeout(.total, after: setting, retry: .safe)
    }
}
