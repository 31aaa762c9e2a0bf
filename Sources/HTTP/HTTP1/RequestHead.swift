import NetproxyBytes
package import NetproxyHTTPMessage

/// A request without its body, checked.
///
/// `headers` still holds everything that came, framing and hop-by-hop fields included.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    /// Never `untilClose`.
    package var framing: BodyFraming
    /// Whether the sender lets another request follow.
    package var keepAlive: Bool
    /// Whether the sender waits for 100 (Continue) before it sends the body.
    package var expectsContinue: Bool
    /// The Host field, which equals the target's authority in absolute-form.
    ///
    /// Without a Host (HTTP/1.0) the target's authority, where it has one.
    package var host: Authority?
}

extension RequestHead {
    /// A placeholder for a head that could not be read, to write the refusal by.
    ///
    /// Only the method matters: the answer to HEAD must have no content (RFC 9110
    /// §9.3.2), whatever is wrong with the rest.
    package static func unreadable(_ bytes: Span<UInt8>) -> RequestHead {
        refused(isHead(bytes) ? .head : .get, .origin("/"))
    }

    /// The same of a request line that was read elsewhere.
    package static func refused(_ method: HTTPMethod, path: String) -> RequestHead {
        refused(method, .origin(path))
    }

    /// A head of which only the request line counts, since something in it is wrong.
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

/// The versions that are spoken.
package enum HTTP1Version: Sendable, Equatable {
    case http10, http11

    /// Reads exactly `HTTP/1.0` or `HTTP/1.1`; `malformed` is thrown for what is no version at all.
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
