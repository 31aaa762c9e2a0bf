import NetproxyBytes
package import NetproxySettings

/// Renders log lines for `netproxy tail`.
package struct LogPrinter {
    /// The output format.
    package enum Rendering: Sendable {
        /// One line for human readers per log line; on a terminal, also one per date.
        case human(HumanLine.Style, HumanLine.Layout)
        /// The lines of the file as JSON, converted if they are logfmt.
        case json
        /// One curl command per line, sent through netproxy.
        case curl(Entrances)
        /// One curl command per line, sent to the upstream, with placeholders for secrets.
        case upstreamCurl
        /// An HTTP archive, completed by `end()`.
        case archive(version: String)
    }

    private let rendering: Rendering
    private let wholeQueries: Set<String>
    private let places: [String: CurlCommand.CredentialLocation]
    private let notations: [String: CredentialNotation]
    private var archive = HARDocument()
    private var isBegun = false
    /// The date printed most recently.
    private var shownDay = ""

    /// Creates a printer.
    ///
    /// `wholeQueries` are the channels that log whole queries, because a line alone may be ambiguous.
    /// `places` contains the locations of the channels' credentials, and `notations` those of
    /// the kinds of credentials.
    package init(
        _ rendering: Rendering,
        wholeQueries: Set<String> = [],
        places: [String: CurlCommand.CredentialLocation] = [:],
        notations: [String: CredentialNotation] = [:]
    ) {
        self.rendering = rendering
        self.wholeQueries = wholeQueries
        self.places = places
        self.notations = notations
    }

    /// Returns the output for some lines.
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
                let notation = line[.authKind]?.text.flatMap { notations[$0] }
                let command = CurlCommand(
                    line,
                    query: queryMode(of: line),
                    place: place,
                    as: notation ?? .token
                )
                if let command {
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

    /// Returns the end of the output.
    package mutating func end() -> [UInt8] {
        let output = OutputBuffer()
        begin(output)
        if case .archive = rendering { archive.end(output) }
        return output.span.array
    }

    private func queryMode(of line: LogLine) -> QueryMode {
        line[.channel]?.text.map(wholeQueries.contains) == true ? .full : .keys
    }

    /// Returns the date of the line, if it is the first line or has another date than the previous one.
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
