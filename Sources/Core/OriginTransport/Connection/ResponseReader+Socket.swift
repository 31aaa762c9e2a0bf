package import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTPMessage
import NetworkCore

extension ResponseReader {
    /// Reads from a socket until a head is complete; no other task may read from it.
    ///
    /// - Parameters:
    ///   - socket: the connection.
    ///   - buffer: the unused bytes; at the end, those after the head.
    ///   - method: the method of the request.
    ///   - deadline: the deadline for the complete head, on the loop's clock.
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
    /// The limits of responses, larger than those of requests: cookies and policies make some heads long.
    static let responses = {
        var limits = HTTP1Limits()
        limits.sectionSize = 64 * 1024
        limits.fieldCount = 256
        return limits
    }()
}

/// The facts about a sent request that are needed to read its response.
struct AwaitedResponse {
    let method: HTTPMethod
    /// The protocols to which the request offered to switch.
    let upgrade: String?

    init(to request: borrowing Request) {
        method = request.method
        let headers = request.headers
        upgrade = headers.contains(KnownField.upgrade) ? headers[.upgrade] : nil
    }

    /// Whether a head belongs to the final response.
    ///
    /// A final head is not informational, or it switches to an offered protocol.
    @inline(__always)
    func isFinal(_ head: borrowing ResponseHead) -> Bool {
        head.status.kind != .informational
            || head.status == 101 && HopFields.agreed(head.headers, offered: upgrade) != nil
    }
}
