package import Bytes

/// How a record becomes a line.
///
/// JSON is what the loops encode. Every other form is made out of that line, so that there is one
/// place that decides what is in it and what is redacted.
package enum LogFormat: String, Sendable, CaseIterable {
    /// The line as it is encoded.
    case json
    /// `key=value` pairs, dots for what is nested.
    case logfmt
    /// JSON with the names of the Elastic Common Schema, version 8.
    case ecs
    /// The Combined Log Format of Apache and nginx; only exchanges have a line.
    case clf

    /// Appends a line in this form, with its newline; nothing where the form has no line for it.
    package func append(_ line: LogLine, to output: OutputBuffer) {
        switch self {
        case .json: output.append(line.raw)
        case .logfmt: LogfmtLine.append(line, to: output)
        case .ecs: ECSLine.append(line, to: output)
        case .clf:
            guard line["event"]?.text == "exchange" else { return }
            CombinedLine.append(line, to: output)
        }
        output.append(UInt8(ascii: "\n"))
    }

    /// Appends an encoded line of JSON in this form.
    func append(json line: Span<UInt8>, to output: OutputBuffer) {
        guard self != .json else { return output.append(line) }
        var bytes = line.array
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        // Unreachable else: the encoder's lines are JSON.
        guard let read = LogLine(bytes) else { return }
        append(read, to: output)
    }
}
