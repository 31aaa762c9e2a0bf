import Bytes

/// Renders log lines as `netproxy tail` prints them.
package struct LogPrinter {
    /// What lines become.
    package enum Rendering: Sendable {
        /// One readable line each.
        case human(HumanLine.Style)
        /// JSON: the lines as they are in the file, unless that is logfmt.
        case json
        /// A curl command each, with placeholders for secrets.
        case curl
        /// One HTTP archive; its end comes from `end()`.
        case archive(version: String)
    }

    private let rendering: Rendering
    private var archive = HARDocument()
    private var isBegun = false

    /// Makes a printer.
    package init(_ rendering: Rendering) {
        self.rendering = rendering
    }

    /// The bytes to print for some lines.
    package mutating func render(_ lines: [LogLine]) -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        for line in lines {
            switch rendering {
            case .archive: archive.append(line, to: output)
            case .curl:
                if let command = CurlCommand(line) { output.append("\(command)\n") }
            case .json:
                if line.raw.utf8.first == UInt8(ascii: "{") {
                    output.append(line.raw)
                } else {
                    line.object.append(to: output)
                }
                output.append("\n")
            case .human(let style): HumanLine(line).encode(to: output, style: style)
            }
        }
        return output.span.array
    }

    /// The bytes that end the output.
    package mutating func end() -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        if case .archive = rendering { archive.end(output) }
        return output.span.array
    }

    private mutating func begin(_ output: OutputBuffer) {
        guard case .archive(let version) = rendering, !isBegun else { return }
        isBegun = true
        archive.begin(output, version: version)
    }
}
