import NetproxyBytes
import NetproxyHTTPMessage

/// Writes an exchange in the Combined Log Format, which every log analyzer understands.
///
///     127.0.0.1 - - [04/Mar/2026:05:06:07 +0000] "GET /v1/42 HTTP/1.1" 200 512 "-" "curl/8"
///
/// Referer and user agent are included if the channel's `log.headers` names them.
enum CombinedLine {
    static func append(_ line: LogLine, to output: OutputBuffer) {
        quoted(host(line[.client]?.plain ?? "-"), output)
        output.append(" - ")
        quoted(line[.clientUID]?.plain ?? "-", output)
        output.append(" [")
        output.append(date(line.time))
        output.append("] \"")
        request(line, output)
        output.append("\" ")
        output.append(line[.status]?.plain ?? "-")
        output.append(" ")
        output.append(line[.bytesOut]?.plain ?? "-")
        for name in ["referer", "user-agent"] {
            output.append(" \"")
            quoted(line[.headers]?[name]?.plain ?? "-", output)
            output.append("\"")
        }
    }

    /// Appends the request line, or `-` if the request could not be parsed, as in Apache.
    private static func request(_ line: LogLine, _ output: OutputBuffer) {
        guard let method = line[.method]?.plain else { return output.append("-") }
        let query = line[.query].map { "?\($0.plain)" } ?? ""
        // CONNECT has a host instead of a path.
        let target = (line[.path] ?? line[.host])?.plain ?? "-"
        quoted("\(method) \(target)\(query)", output)
        output.append(" ")
        quoted(line[.protocolVersion]?.plain ?? "HTTP/1.1", output)
    }

    /// Returns the client's address without its port.
    private static func host(_ client: String) -> String {
        guard let colon = client.lastIndex(of: ":"), client.last != "]" else { return client }
        return client[..<colon].filter { $0 != "[" && $0 != "]" }
    }

    /// Converts `2026-03-04T05:06:07.000089Z` to `04/Mar/2026:05:06:07 +0000`.
    private static func date(_ time: String) -> String {
        let parts = time.prefix(19).split { "-T".contains($0) }
        guard parts.count == 4, let month = Int(parts[1]), (1...12).contains(month) else {
            return time
        }
        return "\(parts[2])/\(CivilDate.monthNames[month - 1])/\(parts[0]):\(parts[3]) +0000"
    }

    /// Escapes like Apache: a backslash before quotes and backslashes, `\xhh` for control bytes and
    /// non-ASCII.
    private static func quoted(_ text: String, _ output: OutputBuffer) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output.append(UInt8(ascii: "\\"))
                output.append(byte)
            case 0x20..<0x7f: output.append(byte)
            default:
                output.append(byte < 16 ? "\\x0" : "\\x")
                output.append(hexadecimal: UInt64(byte))
            }
        }
    }
}
