import HTTPMessage
import NetworkCore

/// W3C Trace Context, as far as a proxy without spans of its own takes part in it.
enum TraceContext {
    /// The trace id of a `traceparent` value, if it is well-formed.
    static func traceID(_ value: String) -> String? {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        // All zeros are no id (W3C Trace Context §3.2.2.3).
        guard parts.count >= 4, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ Grammar.hexValue($0) != nil }),
            parts[1].utf8.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        return String(parts[1])
    }

    /// Begins a trace with a request that belongs to none.
    ///
    /// A `tracestate` that came without its trace goes (W3C Trace Context §3.3.1.1).
    ///
    /// - Parameters:
    ///   - headers: of the request.
    ///   - isSampled: what the flag says to those who have not decided for themselves.
    /// - Returns: the trace id.
    static func begin(in headers: inout HTTPHeaders, isSampled: Bool) -> String {
        let (trace, parent) = (hexadecimal(words: 2), hexadecimal(words: 1))
        headers.remove(HTTPFieldName.traceparent)
        headers.remove(HTTPFieldName.tracestate)
        headers.append(.traceparent, validated: "00-\(trace)-\(parent)-\(isSampled ? "01" : "00")")
        return trace
    }

    /// Random words of 16 digits each, none of them zero.
    private static func hexadecimal(words: Int) -> String {
        var text = ""
        for _ in 0..<words {
            let digits = String(UInt64.random(in: 1 ... .max), radix: 16)
            text += String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return text
    }
}
