package import NetproxyBytes
package import NetproxySettings

// Event loops encode JSON. Every other format is converted from that line, so that a single place
// determines the logged and the redacted values.
extension LogFormat {
    /// Appends a line in this format, including the newline, unless the format has none for its event.
    package func append(_ line: LogLine, to output: OutputBuffer) {
        switch self {
        case .json: output.append(line.raw)
        case .logfmt: LogfmtLine.append(line, to: output)
        case .ecs: ECSLine.append(line, to: output)
        case .clf:
            guard line[.event]?.text == "exchange" else { return }
            CombinedLine.append(line, to: output)
        }
        output.append(UInt8(ascii: "\n"))
    }

    /// Appends an encoded line of JSON in this format.
    func append(json line: Span<UInt8>, to output: OutputBuffer) {
        guard self != .json else { return output.append(line) }
        var bytes = line.array
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        // Always succeeds: the encoder's lines are JSON.
        guard let read = LogLine(bytes) else { return }
        append(read, to: output)
    }
}
