import NetproxyBytes
import NetworkCore

/// Writes a line as `key=value` pairs, and parses such a line.
///
/// Text with a space, `=`, `"` or a control character is quoted and escaped as in JSON, as is text
/// that could be mistaken for a number or a flag.
enum LogfmtLine {
    static func append(_ line: LogLine, to output: OutputBuffer) {
        guard case .object(let members) = line.object else { return }
        append(members, under: "", to: output)
    }

    private static func append(
        _ members: [LogValue.Member],
        under prefix: String,
        to output: OutputBuffer
    ) {
        for member in members {
            let key = prefix + member.name
            if case .object(let inner) = member.value {
                append(inner, under: key + ".", to: output)
                continue
            }
            if !output.isEmpty, output.span[output.count - 1] != UInt8(ascii: "\n") {
                output.append(UInt8(ascii: " "))
            }
            output.append(key)
            output.append("=")
            append(member.value, to: output)
        }
    }

    private static func append(_ value: LogValue, to output: OutputBuffer) {
        guard case .text(let text) = value else { return output.append(value.plain) }
        guard needsQuotes(text) else { return output.append(text) }
        output.append("\"")
        output.append(escaped: text)
        output.append("\"")
    }

    private static func needsQuotes(_ text: String) -> Bool {
        text.isEmpty || Double(text) != nil || ["true", "false", "null"].contains(text)
            || text.unicodeScalars.contains {
                $0.value <= 0x20 || $0 == "\"" || $0 == "=" || TerminalText.isObeyed($0)
            }
    }

    // MARK: - Parsing

    /// Parses the members of a line; nil if it is not a logfmt line of netproxy.
    static func read(_ bytes: [UInt8]) -> LogValue? {
        guard bytes.starts(with: "time=".utf8) else { return nil }
        var members: [LogValue.Member] = []
        var index = 0
        while index < bytes.count {
            guard let equals = bytes[index...].firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let key = String(decoding: bytes[index..<equals], as: UTF8.self)
            var end = equals + 1
            let isQuoted = end < bytes.count && bytes[end] == UInt8(ascii: "\"")
            var isEscaped = false
            if isQuoted { end += 1 }
            while end < bytes.count, isQuoted || bytes[end] != UInt8(ascii: " ") {
                if isQuoted, !isEscaped, bytes[end] == UInt8(ascii: "\"") { break }
                isEscaped = !isEscaped && bytes[end] == UInt8(ascii: "\\")
                end += 1
            }
            guard
                let value = value(bytes[(equals + 1)..<min(end + (isQuoted ? 1 : 0), bytes.count)])
            else { return nil }
            add(key == LogKey.retries.name ? list(value) : value, under: key, to: &members)
            index = end + (isQuoted ? 2 : 1)
        }
        return .object(members)
    }

    private static func value(_ bytes: ArraySlice<UInt8>) -> LogValue? {
        if bytes.first == UInt8(ascii: "\"") { return JSONReader.read(Array(bytes)) }
        let text = String(decoding: bytes, as: UTF8.self)
        switch text {
        case "true": return .flag(true)
        case "false": return .flag(false)
        default: return Double(text).map { .number($0) } ?? .text(text)
        }
    }

    private static func list(_ value: LogValue) -> LogValue {
        .list(value.plain.split(separator: ",").map { .text(String($0)) })
    }

    /// Adds a value under a dotted key: `auth.kind` becomes the member `kind` of `auth`.
    private static func add(
        _ value: LogValue,
        under key: String,
        to members: inout [LogValue.Member]
    ) {
        guard let dot = key.firstIndex(of: ".") else {
            return members.append(LogValue.Member(name: key, value: value))
        }
        let name = String(key[..<dot])
        let inner = LogValue.Member(name: String(key[key.index(after: dot)...]), value: value)
        guard let last = members.last, last.name == name, case .object(let list) = last.value else {
            return members.append(LogValue.Member(name: name, value: .object([inner])))
        }
        members[members.count - 1] = LogValue.Member(name: name, value: .object(list + [inner]))
    }
}
