/// The phases that can time out, with their errors; the only table of timeouts.
///
/// The component that waits also measures the time, because only it can end the wait: the transport for an
/// upstream connection, the authorizer for a credential, the daemon for a client that sends or reads.
/// `TimeLimit`
/// measures it for other code.
package enum TimeoutPhase: Sendable, CaseIterable {
    // Upstream, in the order of an attempt.
    case queue, resolving, connecting, handshake, sending, awaitingHead, readingBody
    /// The exchange as a whole.
    case total
    /// The wait for a token.
    case credential
    // Downstream.
    case requestHead, requestBody, requestBodyRate, delivery
    /// A tunnel without traffic.
    case tunnel

    /// Whether no part of the request has been sent yet.
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
    /// Returns the error of a timeout.
    ///
    /// - Parameters:
    ///   - phase: the phase that took too long.
    ///   - peer: the name of the other side in the message.
    ///   - setting: the reached limit, for the message.
    ///   - retry: the safety of a retry; `nil` allows one only if no part of the request was sent.
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

    /// Returns the error of an exchange that its deadline ended.
    ///
    /// - Parameters:
    ///   - error: the error that ended the exchange, with its retry safety.
    ///   - setting: the limit of the exchange, for the message.
    /// - Returns: `http_response_timeout`.
    package static func overdue(_ error: any Error, after setting: TimeSetting?) -> NetworkError {
        timeout(.total, after: setting, retry: (error as? NetworkError)?.retry ?? .unsafe)
    }

    /// Returns the error of an exchange that its deadline ended before any byte was sent.
    package static func overdueUnsent(after setting: TimeSetting?) -> NetworkError {
        timeout(.total, after: setting, retry: .safe)
    }
}
