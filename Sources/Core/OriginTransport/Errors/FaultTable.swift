import NetproxyEventIO
import NetproxyHTTP1
import NetworkCore

/// What went wrong on an upstream connection, in the words of the log: the one table for it.
enum FaultTable {
    /// The error of a fault.
    ///
    /// - Parameters:
    ///   - fault: what the system or TLS said.
    ///   - phase: where it happened; what was not sent is safe to send again.
    ///   - peer: whom the message names.
    ///   - setting: the limit of the phase, for a fault that is ours: it was reached.
    ///   - mayBeStale: whether the connection may have been dead before it was taken from the pool;
    ///     one that only did not answer in time was not.
    /// - Returns: the error, in the words of the log.
    static func error(
        _ fault: IOError,
        in phase: TimeoutPhase,
        to peer: String,
        after setting: TimeSetting? = nil,
        mayBeStale: Bool = false
    ) -> NetworkError {
        let beforeSending = phase == .resolving || phase == .connecting || phase == .handshake
        let isStale = mayBeStale && fault != .timedOut
        let retry: NetworkError.RetrySafety =
            beforeSending ? .safe : isStale ? .idempotentOnly : .unsafe
        func make(_ kind: ErrorKind, _ detail: String) -> NetworkError {
            NetworkError(kind, side: .upstream, retry: retry, detail: detail)
        }
        switch fault {
        case .timedOut: return .timeout(phase, peer, after: setting)
        case .unresponsive(let reason):
            return beforeSending
                ? make(.connectionTimeout, "\(peer) does not answer: \(reason)")
                : make(
                    .connectionTerminated,
                    "the connection to \(peer) is dead: TCP gets no acknowledgment (\(reason))"
                )
        case .closedByPeer:
            return phase == .readingBody
                ? make(.httpResponseIncomplete, "\(peer) cut its answer short")
                : make(.connectionTerminated, "\(peer) closed the connection without an answer")
        case .aborted:
            return NetworkError(
                .cancelled,
                side: .downstream,
                retry: retry,
                detail: "the caller went away before the answer"
            )
        case .refused:
            return make(.connectionRefused, "\(peer) refuses connections; is it running?")
        case .unknownHost(let reason):
            return make(.dnsError, "the name of \(peer) cannot be resolved: \(reason)")
        case .tlsProtocol(let reason):
            return make(.tlsProtocolError, "TLS with \(peer) failed: \(reason)")
        case .tlsCertificate(let reason):
            return make(
                .tlsCertificateError,
                "the certificate of \(peer) is not trusted: \(reason)"
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
        case .system(let reason), .denied(let reason):
            return make(
                beforeSending ? .destinationUnavailable : .connectionTerminated,
                "\(peer) cannot be reached: \(reason)"
            )
        }
    }

    /// The error of a response that breaks the rules of HTTP/1.1.
    static func error(_ fault: HTTP1Error, from peer: String) -> NetworkError {
        NetworkError(
            .httpProtocolError,
            side: .upstream,
            detail: "\(peer) sent a malformed answer: \(fault.reason)"
        )
    }
}
