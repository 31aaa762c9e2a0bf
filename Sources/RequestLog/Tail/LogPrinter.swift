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
    private let wholeQueries: Set<String>
    private var archive = HARDocument()
    private var isBegun = false
    /// The date that was printed last.
    private var shownDay = ""

    /// Makes a printer.
    ///
    /// `wholeQueries` are the channels whose log shows queries as they were sent; a line does not
    /// always tell that from a list of their names.
    package init(_ rendering: Rendering, wholeQueries: Set<String> = []) {
        self.rendering = rendering
        self.wholeQueries = wholeQueries
    }

    /// The bytes to print for some lines.
    package mutating func render(_ lines: [LogLine]) -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        for line in lines {
            switch rendering {
            case .archive:
                archive.append(line, hasWholeQuery: hasWholeQuery(line), to: output)
            case .curl:
                if let command = CurlCommand(line, hasWholeQuery: hasWholeQuery(line)) {
                    output.append("\(command)\n")
                }
            case .json:
                if line.raw.utf8.first == UInt8(ascii: "{") {
                    output.append(line.raw)
                } else {
                    line.object.append(to: output)
                }
                output.append("\n")
            case .human(let style):
                var human = HumanLine(line)
                human.day = dayIfNew(of: line)
                human.encode(to: output, style: style)
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

    private func hasWholeQuery(_ line: LogLine) -> Bool {
        line["channel"]?.text.map(wholeQueries.contains) ?? false
    }

    /// The date of the first line, and of one on another day than that before it: what was last written
    /// may be a week old.
    private mutating func dayIfNew(of line: LogLine) -> String? {
        guard let end = line.time.firstIndex(of: "T") else { return nil }
        let day = String(line.time[..<end])
        guard day != shownDay else { return nil }
        shownDay = day
        return day
    }

    private mutating func begin(_ output: OutputBuffer) {
        guard case .archive(let version) = rendering, !isBegun else { return }
        isBegun = true
        archive.begin(output, version: version)
    }
}
