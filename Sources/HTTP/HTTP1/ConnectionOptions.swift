import NetproxyBytes
import NetproxyHTTPMessage

/// The connection options in the Connection fields (RFC 9112 §9.3).
struct ConnectionOptions: Sendable {
    private(set) var close = false
    private(set) var keepAlive = false

    /// Parses one field value, a list of tokens.
    mutating func add(_ value: Span<UInt8>) throws(HTTP1Error) {
        // Usually this is the complete value.
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
    /// Calls `body` with each token of a comma-separated list, skipping empty elements (RFC 9110 §5.6.1).
    ///
    /// Returns `false` if an element is not a token.
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
