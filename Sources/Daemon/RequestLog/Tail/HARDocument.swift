package import NetproxyBytes
import NetproxyHTTPMessage
package import NetproxySettings

/// Converts log lines to an HTTP Archive (HAR 1.2), one entry at a time.
///
/// Facts that are never logged (bodies, most fields, cookies) are empty, and unknown sizes are -1, as the
/// format specifies.
package struct HARDocument {
    private var isEmpty = true

    /// Creates a document without entries.
    package init() {}

    /// Appends the beginning of the document; `version` is the version of netproxy.
    package func begin(_ output: OutputBuffer, version: String) {
        output.append(#"{"log":{"version":"1.2","creator":{"name":"netproxy","version":"#)
        string(version, output)
        output.append(#"},"entries":["#)
    }

    /// Appends the end of the document.
    package func end(_ output: OutputBuffer) {
        output.append(isEmpty ? "]}}\n" : "\n]}}\n")
    }

    /// Appends an exchange; lines of other events are ignored.
    ///
    /// `query` is the channel's query mode, which resolves ambiguous lines.
    package mutating func append(
        _ line: LogLine,
        query: QueryMode = .keys,
        to output: OutputBuffer
    ) {
        guard line[.event]?.text == "exchange" else { return }
        output.append(isEmpty ? "\n" : ",\n")
        isEmpty = false
        output.append(#"{"startedDateTime":"#)
        string(line.time, output)
        output.append(",\"time\":")
        number(line[.duration], output)
        request(line, RequestURL(ofAny: line, query: query), output)
        response(line, output)
        output.append(#","cache":{}"#)
        timings(line, output)
        if let upstream = line[.upstream]?.text, let colon = upstream.lastIndex(of: ":") {
            output.append(",\"serverIPAddress\":")
            string(upstream[..<colon].filter { $0 != "[" && $0 != "]" }, output)
        }
        for (name, key) in [
            ("_channel", .channel), ("_requestId", .requestID), ("_error", .error),
            ("comment", .detail), ("_target", .target), ("_retries", .retries),
        ] as [(String, LogKey)] {
            guard let value = line[key]?.plain else { continue }
            output.append(",\"\(name)\":")
            string(value, output)
        }
        output.append("}")
    }

    private func request(_ line: LogLine, _ url: RequestURL, _ output: OutputBuffer) {
        output.append(#","request":{"method":"#)
        string(line[.method]?.text ?? "", output)
        output.append(",\"url\":")
        string(url.description, output)
        message(line, fields: line[.headers], output)
        output.append(#","queryString":["#)
        for (index, parameter) in url.parameters.enumerated() {
            if index > 0 { output.append(",") }
            pair(parameter.name, parameter.value ?? "", output)
        }
        output.append(#"],"headersSize":-1,"bodySize":"#)
        number(line[.bytesIn], output)
        output.append("}")
    }

    private func response(_ line: LogLine, _ output: OutputBuffer) {
        let status = line[.status]?.integer ?? 0
        output.append(#","response":{"status":"#)
        output.append(decimal: status)
        output.append(#","statusText":""#)
        if let reason = HTTPStatus(rawValue: status)?.reasonPhrase { output.append(reason) }
        output.append("\"")
        message(line, fields: line[.responseHeaders], output)
        output.append(#","content":{"size":"#)
        number(line[.bytesOut], output)
        output.append(#","mimeType":"#)
        string(line[.responseHeaders]?["content-type"]?.text ?? "", output)
        output.append(#"},"redirectURL":"","headersSize":-1,"bodySize":"#)
        number(line[.bytesOut], output)
        output.append("}")
    }

    private func message(_ line: LogLine, fields: LogValue?, _ output: OutputBuffer) {
        output.append(#","httpVersion":"#)
        string(line[.protocolVersion]?.text ?? "", output)
        output.append(#","cookies":[],"headers":["#)
        if case .object(let members)? = fields {
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(",") }
                pair(member.name, member.value.plain, output)
            }
        }
        output.append("]")
    }

    /// Appends the phases, which add up to the entry's `time`; phases that did not occur are -1.
    ///
    /// In HAR 1.2, `connect` includes `ssl`. `blocked` is the wait for a connection and for a token. Time
    /// that the log does not attribute (failed attempts, the body) counts as receiving if a response began,
    /// and as waiting otherwise.
    private func timings(_ line: LogLine, _ output: OutputBuffer) {
        let waits = [line[.queueTime]?.number, line[.authWait]?.number].compactMap { $0 }
        let blocked = waits.isEmpty ? nil : waits.reduce(0, +)
        let (dns, ssl) = (line[.dnsTime]?.number, line[.tlsTime]?.number)
        let connect = line[.connectTime]?.number.map { $0 + (ssl ?? 0) }
        let firstByte = line[.firstByteTime]?.number
        let known = [blocked, dns, connect, firstByte].compactMap { $0 }.reduce(0, +)
        let rest = max(0, (line[.duration]?.number ?? 0) - known)
        let phases = [
            ("send", 0), ("receive", firstByte == nil ? 0 : rest), ("blocked", blocked),
            ("dns", dns), ("connect", connect), ("ssl", connect == nil ? nil : ssl),
            ("wait", firstByte ?? rest),
        ]
        output.append(#","timings":{"#)
        for (index, (name, milliseconds)) in phases.enumerated() {
            if index > 0 { output.append(",") }
            output.append("\"\(name)\":")
            let value = milliseconds.map { ($0 * 1000).rounded() / 1000 }
            output.append(LogValue.number(value ?? -1).plain)
        }
        output.append("}")
    }

    private func pair(_ name: String, _ value: String, _ output: OutputBuffer) {
        output.append(#"{"name":"#)
        string(name, output)
        output.append(#","value":"#)
        string(value, output)
        output.append("}")
    }

    private func string(_ text: String, _ output: OutputBuffer) {
        output.append("\"")
        output.append(escaped: text)
        output.append("\"")
    }

    private func number(_ value: LogValue?, _ output: OutputBuffer) {
        output.append(value?.number == nil ? "0" : value?.plain ?? "0")
    }
}
