import NetproxyBytes
import NetproxyHTTPMessage

/// What the Connection fields say about the connection itself (RFC 9112 §9.3).
struct ConnectionOptions: Sendable {
    private(set) var close = false
    private(set) var keepAlive = false

    /// Reads one field value, a list of tokens.
    mutating func add(_ value: Span<UInt8>) throws(HTTP1Error) {
        // Nearly always the whole of it.
        if value.equals("keep-alive", in: 0..<value.count) {
            keepAlive = true
            return
        }
        let isList = value.forEachElement { (element: Range<Int>) in
            if value.equals("close", in: element) {
                close = true
            } else if value.equals("keep-alive", in: element) {
                keepAlive = true
            }
        }
        guard isList else { throw .malformedConnection }
    }

    /// Whether another message may follow.
    func persists(_ version: HTTP1Version) -> Bool {
        version == .http11 ? !close : keepAlive && !close
    }
}

extension Span<UInt8> {
    /// Visits the tokens of a comma-separated list, empty elements left out (RFC 9110 §5.6.1);
    /// false if an element is no token.
    func forEachElement(_ body: (Range<Int>) -> Void) -> Bool {
        var index = 0
        while true {
            while index < count, Grammar.isWhitespace(self[index]) { index += 1 }
            let start = index
            while index < count, Grammar.isTokenByte(self[index]) { index += 1 }
            if index > start { body(start..<index) }
            while index < count, Grammar.isWhitespace(self[index]) { index += 1 }
            if index == count { return true }
            guard self[index] == UInt8(ascii: ",") else { return false }
            index += 1
        }
    }
}
