import NetproxyHTTPMessage
import NetworkCore

/// W3C Trace Context, as far as it concerns a proxy without spans of its own.
enum TraceContext {
    /// Returns the trace id of a valid `traceparent` value (W3C Trace Context §3.2.2).
    ///
    /// A valid value has lower-case digits, no id of zeros, no version `ff`, and nothing after the flags
    /// in version `00`.
    static func traceID(_ value: String) -> String? {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, isHexadecimal(parts[0], 2), parts[0] != "ff",
            isHexadecimal(parts[3], 2), parts[0] != "00" || parts.count == 4
        else { return nil }
        let ids = [(parts[1], 32), (parts[2], 16)]
        let areIDs = ids.allSatisfy { text, count in
            isHexadecimal(text, count) && text.utf8.contains { $0 != UInt8(ascii: "0") }
        }
        return areIDs ? String(parts[1]) : nil
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy {
                Grammar.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Begins a trace for a request without one.
    ///
    /// A `tracestate` without a valid `traceparent` is removed (W3C Trace Context §3.3.1.1).
    ///
    /// - Parameters:
    ///   - headers: the fields of the request.
    ///   - flags: `01` if the trace is sampled, else `00`.
    /// - Returns: the trace id.
    static func begin(in headers: inout HTTPHeaders, flags: String) -> String {
        let (trace, parent) = (hexadecimal(words: 2), hexadecimal(words: 1))
        headers.remove(HTTPFieldName.traceparent)
        headers.remove(HTTPFieldName.tracestate)
        headers.append(.traceparent, validated: "00-\(trace)-\(parent)-\(flags)")
        return trace
    }

    /// Returns random words of 16 digits each, none of which is zero.
    private static func hexadecimal(words: Int) -> String {
        var text = ""
        for _ in 0..<words {
            let digits = String(UInt64.random(in: 1 ... .max), radix: 16)
            text += String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return text
    }
}
