import Bytes
import HTTPMessage

extension RequestHead {
    /// Stands for a head that could not be read, when the refusal is written.
    ///
    /// Of the bytes only the method counts: whoever asked with HEAD must get no content (RFC 9110
    /// §9.3.2), whatever is wrong with the rest.
    package static func unreadable(_ bytes: Span<UInt8>) -> RequestHead {
        refused(isHead(bytes) ? .head : .get, .origin("/"))
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

    /// Whether a request line begins with HEAD; an empty line may stand in front of it.
    private static func isHead(_ bytes: Span<UInt8>) -> Bool {
        let start = bytes.count > 1 && bytes[0] == 0x0D && bytes[1] == 0x0A ? 2 : 0
        guard bytes.count >= start + 5 else { return false }
        return bytes[start] == UInt8(ascii: "H") && bytes[start + 1] == UInt8(ascii: "E")
            && bytes[start + 2] == UInt8(ascii: "A") && bytes[start + 3] == UInt8(ascii: "D")
            && bytes[start + 4] == 0x20
    }
}
