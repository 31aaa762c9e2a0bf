import NetproxyBytes
package import NetproxySettings
package import NetproxySystem

/// Sends lines to systemd's journal in its native protocol: one datagram per line, with the facts of the line
/// as separate fields.
///
/// `MESSAGE` is the line in the configured format, `PRIORITY` its level, `NETPROXY_STATUS` its `status`, and
/// so on. It never blocks: lines that the journal does not accept are lost and counted.
package final class JournalDestination: LogDestination {
    /// Always 0: the journal is a single stream.
    package let generation = 0
    private let path: String
    private let format: LogFormat
    private let socket: DatagramSocket
    private let message = OutputBuffer(capacity: 1024)

    /// Creates a socket that sends to `path`; the journal need not be listening yet.
    package init(path: String, format: LogFormat) throws(FileError) {
        self.path = path
        self.format = format
        socket = try DatagramSocket()
    }

    /// Does nothing.
    package func prepare(adding count: Int, now: ContinuousClock.Instant) {}

    /// Sends the first line.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: 0) ?? bytes.count
        let count = min(end + 1, bytes.count)
        guard let line = LogLine(bytes.extracting(0..<end).array) else { return count }
        let message = message
        message.removeAll()
        encode(line)
        guard !message.isEmpty else { return count }
        try socket.send(message.span, to: path)
        return count
    }

    /// Does nothing.
    package func reopen() {}

    private func encode(_ line: LogLine) {
        let text = OutputBuffer(capacity: 512)
        format.append(line, to: text)
        // Some formats have no line for some events.
        guard !text.isEmpty else { return }
        text.truncate(to: text.count - 1)
        field("MESSAGE", text.span.array)
        field("PRIORITY", [JournalDestination.priority(line[.level]?.text)])
        field("SYSLOG_IDENTIFIER", Array("netproxy".utf8))
        if case .object(let members) = line.object { fields(members, under: "NETPROXY_") }
    }

    private func fields(_ members: [LogValue.Member], under prefix: String) {
        for member in members {
            // The journal accepts names of at most 64 capital letters, digits and underscores.
            let name = member.name.uppercased().map {
                $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_"
            }
            let key = String((prefix + String(name)).prefix(64))
            if case .object(let inner) = member.value {
                fields(inner, under: key + "_")
            } else {
                field(key, Array(member.value.plain.utf8))
            }
        }
    }

    /// Appends `KEY=value`, or for a value with line breaks, the key, the length in 8 bytes and the value.
    private func field(_ key: String, _ value: [UInt8]) {
        message.append(key)
        if value.contains(UInt8(ascii: "\n")) {
            message.append("\n")
            for shift in stride(from: 0, to: 64, by: 8) {
                message.append(UInt8(truncatingIfNeeded: value.count >> shift))
            }
        } else {
            message.append("=")
        }
        message.append(value)
        message.append("\n")
    }

    /// Returns the syslog severity: 6 informational, 4 warning, 3 error.
    private static func priority(_ level: String?) -> UInt8 {
        switch level {
        case "error": UInt8(ascii: "3")
        case "warning": UInt8(ascii: "4")
        default: UInt8(ascii: "6")
        }
    }
}
