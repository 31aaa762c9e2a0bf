import Glibc
import NetproxySystem

/// An error on a socket.
package enum IOError: Error, Sendable, Equatable {
    /// The deadline passed.
    case timedOut
    /// The peer closed the connection or reset it.
    case closedByPeer
    /// The peer or the network path to it is silent, and sent data is not acknowledged; contains the system's
    /// message.
    case unresponsive(String)
    /// This side closed or aborted the socket while it was in use.
    case aborted
    /// The peer refused the connection.
    case refused
    /// No route, no address, or another error of the system; contains the system's message.
    case system(String)
    /// The system denies permission; contains the system's message.
    case denied(String)
    /// This process has no file descriptors left; contains the system's message.
    case exhausted(String)
    /// The name has no address.
    case unknownHost(String)
    /// The peer does not speak TLS, or the handshake failed; contains the reason.
    case tlsProtocol(String)
    /// The peer's certificate is not trusted; contains the reason.
    case tlsCertificate(String)
}

extension IOError {
    /// Returns the error that `body` throws, for closures that cannot throw a typed error.
    package static func thrown(by body: () async throws(IOError) -> Void) async -> IOError? {
        do throws(IOError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }
}

extension IOError {
    /// Translates an error number of an open connection.
    init(ofConnection code: Int32) {
        self =
            switch code {
            case ECONNRESET, EPIPE: .closedByPeer
            // The kernel gave up retransmitting or probing. An ICMP error that arrived in the meantime is
            // reported instead of the timeout.
            case ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN:
                .unresponsive(describe(errno: code))
            default: .system(describe(errno: code))
            }
    }
}

extension IOError: CustomStringConvertible {
    /// The error as text, for a log or an error message.
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .closedByPeer: "the peer closed the connection"
        case .aborted: "the connection was aborted"
        case .refused: "connection refused"
        case .system(let words), .denied(let words), .exhausted(let words), .unknownHost(let words),
            .unresponsive(let words):
            words
        case .tlsProtocol(let words): "TLS failed: \(words)"
        case .tlsCertificate(let words): "the certificate is not trusted: \(words)"
        }
    }
}
