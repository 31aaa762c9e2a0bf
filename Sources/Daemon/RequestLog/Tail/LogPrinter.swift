import NetproxyBytes

/// Renders log lines as `netproxy tail` prints them.
package struct LogPrinter {
    /// The output format.
    package enum Rendering: Sendable {
        /// One line for human readers each; on a terminal, also one for each date.
        case human(HumanLine.Style, HumanLine.Layout)
        /// JSON: the lines of the file, converted if they are logfmt.
        case json
        /// A curl command each that goes through netproxy.
        case curl(Entrances)
        /// A curl command each that goes to the upstream, with placeholders for secrets.
        case upstreamCurl
        /// An HTTP archive, completed by `end()`.
        case archive(version: String)
    }

    private let rendering: Rendering
    private let wholeQueries: Set<String>
    private let places: [String: CurlCommand.Place]
    private var archive = HARDocument()
    private var isBegun = false
    /// The date printed last.
    private var shownDay = ""

    /// Creates a printer.
    ///
    /// `wholeQueries` are the channels that log whole queries; a line alone may be ambiguous. `places`
    /// says for channels where their credential goes.
    package init(
        _ rendering: Rendering,
        wholeQueries: Set<String> = [],
        places: [String: CurlCommand.Place] = [:]
    ) {
        self.rendering = rendering
        self.wholeQueries = wholeQueries
        self.places = places
    }

    /// The output for some lines.
    package mutating func render(_ lines: [LogLine]) -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        for line in lines {
            switch rendering {
            case .archive:
                archive.append(line, query: queryMode(of: line), to: output)
            case .curl(let entrances):
                if let command = RepeatedRequest(line, query: queryMode(of: line), entrances) {
                    output.append("\(command)\n")
                }
            case .upstreamCurl:
                let place = line[.channel]?.text.flatMap { places[$0] }
                if let command = CurlCommand(line, query: queryMode(of: line), place: place) {
                    output.append("\(command)\n")
                }
            case .json:
                if line.raw.utf8.first == UInt8(ascii: "{") {
                    output.append(line.raw)
                } else {
                    line.object.append(to: output)
                }
                output.append("\n")
            case .human(let style, let layout):
                if layout.width != nil, let day = dayIfNew(of: line) {
                    output.append("\(day) UTC\n")
                }
                HumanLine(line).encode(to: output, style: style, in: layout)
            }
        }
        return output.span.array
    }

    /// The end of the output.
    package mutating func end() -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        if case .archive = rendering { archive.end(output) }
        return output.span.array
    }

    private func queryMode(of line: LogLine) -> QueryMode {
        line[.channel]?.text.map(wholeQueries.contains) == true ? .full : .keys
    }

    /// The date of the line, if it is the first line or differs from the previous line's.
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
