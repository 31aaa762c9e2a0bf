package import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTPMessage
import NetworkCore

extension ResponseReader {
    /// Reads from a socket until a head is complete; nothing else may read from it.
    ///
    /// - Parameters:
    ///   - socket: where the response comes from.
    ///   - buffer: what was read from it and not used; in the end, what follows the head.
    ///   - method: what the request was sent with.
    ///   - deadline: when the head must be complete, on the loop's clock.
    /// - Returns: the head.
    /// - Throws: `HTTP1Error`, or `IOError`: `.closedByPeer` before the end of the head, `.timedOut`,
    ///   `.aborted`, `.system`.
    package mutating func readHead(
        from socket: StreamSocket,
        into buffer: ReadBuffer,
        answering method: HTTPMethod,
        until deadline: UInt64
    ) async throws -> ResponseHead {
        while true {
            if let head = try next(from: buffer, answering: method) { return head }
            guard try await socket.read(into: buffer, until: deadline) > 0 else {
                throw IOError.closedByPeer
            }
        }
    }
}

extension HTTP1Limits {
    /// Larger than for requests: cookies and policies make the heads of real answers long.
    static let responses = {
        var limits = HTTP1Limits()
        limits.sectionSize = 64 * 1024
        limits.fieldCount = 256
        return limits
    }()
}

/// What an answer is read against: all that is kept of a request once it is sent.
struct AwaitedAnswer {
    let method: HTTPMethod
    /// The protocols that the request offered to switch to.
    let upgrade: String?

    init(to request: borrowing Request) {
        method = request.method
        let headers = request.headers
        upgrade = headers.contains(KnownField.upgrade) ? headers[.upgrade] : nil
    }
}
