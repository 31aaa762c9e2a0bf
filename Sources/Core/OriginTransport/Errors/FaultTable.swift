import NetproxyEventIO
import NetproxyHTTP1
import NetworkCore

/// The table of the errors on an upstream connection, with their messages in the log.
enum FaultTable {
    /// Translates an I/O error.
    ///
    /// - Parameters:
    ///   - fault: the error of the system or of TLS.
    ///   - phase: the phase of the attempt; before the request is sent, a retry is safe.
    ///   - peer: the name of the peer, for the message.
    ///   - setting: the reached limit of the phase, if the fault is a timeout.
    ///   - retry: whether a retry is safe once the request is sent; a timeout never is.
    /// - Returns: the `NetworkError`.
    static func error(
        _ fault: IOError,
        in phase: TimeoutPhase,
        to peer: String,
        after setting: TimeSetting? = nil,
        onceSent retry: NetworkError.RetrySafety = .unsafe
    ) -> NetworkError {
        let retry = isUnsent(in: phase) ? .safe : retry
        switch fault {
        case .timedOut: return .timeout(phase, peer, after: setting)
        case .aborted:
            return NetworkError(
                .cancelled,
                side: .downstream,
                retry: retry,
                detail: "the caller canceled the request"
            )
        case .exhausted(let reason):
            return NetworkError(
                .connectionLimitReached,
                side: .proxy,
                retry: retry,
                detail: "there is no descriptor left for a connection to \(peer): \(reason); "
                    + "raise the limit of open files",
                retryAfter: 1
            )
        default:
            let (kind, detail) = upstreamFault(fault, in: phase, of: peer)
            return NetworkError(kind, side: .upstream, retry: retry, detail: detail)
        }
    }

    private static func isUnsent(in phase: TimeoutPhase) -> Bool {
        phase == .resolving || phase == .connecting || phase == .handshake
    }

    /// Returns the kind and the message of an error caused by the peer.
    private static func upstreamFault(
        _ fault: IOError,
        in phase: TimeoutPhase,
        of peer: String
    ) -> (ErrorKind, String) {
        switch fault {
        case .unresponsive(let reason):
            isUnsent(in: phase)
                ? (.connectionTimeout, "\(peer) does not answer: \(reason)")
                : (
                    .connectionTerminated,
                    "the connection to \(peer) is dead: TCP gets no acknowledgment (\(reason))"
                )
        case .closedByPeer:
            phase == .readingBody
                ? (.httpResponseIncomplete, "\(peer) cut its answer short")
                : (.connectionTerminated, "\(peer) closed the connection without an answer")
        case .refused: (.connectionRefused, "\(peer) refuses connections; is it running?")
        case .unknownHost(let reason):
            (.dnsError, "the name of \(peer) cannot be resolved: \(reason)")
        case .tlsProtocol(let reason): (.tlsProtocolError, "TLS with \(peer) failed: \(reason)")
        case .tlsCertificate(let reason):
            (.tlsCertificateError, "the certificate of \(peer) is not trusted: \(reason)")
        case .timedOut, .aborted, .exhausted, .system, .denied:
            (
                isUnsent(in: phase) ? .destinationUnavailable : .connectionTerminated,
                "\(peer) cannot be reached: \(fault)"
            )
        }
    }

    /// Returns the error for a response that breaks the rules of HTTP/1.1.
    static func error(_ fault: HTTP1Error, from peer: String) -> NetworkError {
        NetworkError(
            .httpProtocolError,
            side: .upstream,
            detail: "\(peer) sent a malformed answer: \(fault.reason)"
        )
    }
}
