import NetproxyBytes
package import NetproxyHTTPMessage

/// A validated request head.
///
/// `headers` contains all received fields, including framing and hop-by-hop fields.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    /// Never `untilClose`.
    package var framing: BodyFraming
    /// Whether the sender allows another request on the connection.
    package var keepAlive: Bool
    /// Whether the sender waits for 100 (Continue) before it sends the body.
    package var expectsContinue: Bool
    /// The Host field, which equals the target's authority in absolute-form.
    ///
    /// Without a Host field (HTTP/1.0), it is the target's authority, if any.
    package var host: Authority?
}

extension RequestHead {
    /// Returns a placeholder for a head that could not be parsed, for writing the error response.
    ///
    /// Only the method matters: the response to HEAD must not have content (RFC 9110 §9.3.2), even if the
    /// rest of the head is invalid.
    package static func unreadable(_ bytes: Span<UInt8>) -> RequestHead {
        refused(isHead(bytes) ? .head : .get, .origin("/"))
    }

    /// Returns a placeholder for a request line that was parsed elsewhere.
    package static func refused(_ method: HTTPMethod, path: String) -> RequestHead {
        refused(method, .origin(path))
    }

    /// Returns a head in which only the request line is meaningful, because the rest is invalid.
    static func refused(_ method: HTTPMethod, _ target: RequestTarget) -> RequestHead {
        RequestHead(
            method: method,
            target: target,
            version: .http11,
            headers: [:],
            framing: .none,
            keepAlive: false,
            expectsContinue: false,
            host: nil
        )
    }

    /// Whether a request line begins with HEAD; an empty line may precede it.
    private static func isHead(_ bytes: Span<UInt8>) -> Bool {
        let start = bytes.count > 1 && bytes[0] == 0x0D && bytes[1] == 0x0A ? 2 : 0
        guard bytes.count >= start + 5 else { return false }
        return bytes[start] == UInt8(ascii: "H") && bytes[start + 1] == UInt8(ascii: "E")
            && bytes[start + 2] == UInt8(ascii: "A") && bytes[start + 3] == UInt8(ascii: "D")
            && bytes[start + 4] == 0x20
    }
}

/// The supported versions.
package enum HTTP1Version: Sendable, Equatable {
    case http10, http11

    /// Parses exactly `HTTP/1.0` or `HTTP/1.1`; throws `malformed` if the bytes are not a version.
    init(_ bytes: Span<UInt8>, else malformed: HTTP1Error) throws(HTTP1Error) {
        let name: InlineArray<5, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2F]
        guard bytes.count == 8, bytes[6] == UInt8(ascii: ".") else { throw malformed }
        for index in 0..<5 where bytes[index] != name[index] { throw malformed }
        guard bytes[5] &- 0x30 < 10, bytes[7] &- 0x30 < 10 else { throw malformed }
        guard bytes[5] == UInt8(ascii: "1"), bytes[7] <= UInt8(ascii: "1") else {
            throw .unsupportedVersion
        }
        self = bytes[7] == UInt8(ascii: "1") ? .http11 : .http10
    }
}
