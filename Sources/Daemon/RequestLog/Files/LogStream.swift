import NetproxyBytes
import NetproxySettings
import NetproxySystem

/// The writer of one log's lines to their destination, which may block as long as the disk does.
struct LogStream {
    private var destination: any LogDestination
    private let encoder: LineEncoder
    private let format: LogFormat
    /// The lines written and lost by this stream.
    private(set) var counters = LogSink.Counters()
    /// The number of lost lines that no notice has reported yet.
    private var unreported = 0
    /// The rest of a partly written line.
    private var rest: [UInt8] = []
    private var generation = 0
    /// Whether the most recent lines were lost.
    private var isLosing = false
    /// Whether only exchanges that are still running write to the stream.
    private var isRetired = false
    private let notice = OutputBuffer(capacity: 512)

    init(labels: LogLabels, to destination: any LogDestination, format: LogFormat) {
        self.destination = destination
        self.format = format
        encoder = LineEncoder(labels: labels)
    }

    /// Reopens the file.
    func reopen() { destination.reopen() }

    /// Closes the file now and after each later write, until `revive`.
    mutating func retire() {
        isRetired = true
        destination.reopen()
    }

    mutating func revive() { isRetired = false }

    /// Switches to another destination.
    mutating func redirect(to destination: any LogDestination) {
        self.destination = destination
        // Matches no destination: the rest of a partly written line is not written to this one.
        generation = -1
    }

    /// Records lines lost before they reached the stream, for the notice before the next line.
    mutating func report(lost count: Int, for reason: FileError) {
        unreported += count
        counters.lastError = reason
    }

    /// Writes the rest of a cut line and the notice about lost lines, which otherwise wait for the next line.
    mutating func finish(at time: WallTime, now: ContinuousClock.Instant) {
        guard !rest.isEmpty || unreported > 0 else { return }
        let nothing: [UInt8] = []
        _ = write(nothing.span, count: 0, at: time, now: now)
    }

    /// Writes or drops whole lines, and returns the reason if lines begin to be lost.
    mutating func write(
        _ lines: Span<UInt8>,
        count: Int,
        at time: WallTime,
        now: ContinuousClock.Instant
    ) -> FileError? {
        var written = 0
        do throws(FileError) {
            try destination.prepare(adding: rest.count + lines.count, now: now)
            if destination.generation != generation { startFile() }
            try finishLine()
            try reportLosses(at: time)
            if let warning = destination.takeWarning() {
                try report(
                    EventRecord(
                        time: time,
                        level: .warning,
                        event: .log,
                        message: "the file is too long and cannot be rotated",
                        facts: [(LogKey.reason.name, .text("\(warning)"))]
                    )
                )
            }
            try write(all: lines, written: &written)
            counters.written += count
            isLosing = false
            if isRetired { destination.reopen() }
            return nil
        } catch {
            counters.lastError = error
            keepLine(of: lines, written: written)
            defer { isLosing = true }
            return isLosing ? nil : error
        }
    }

    private mutating func startFile() {
        generation = destination.generation
        guard !rest.isEmpty else { return }
        // The line was counted as written when its rest was kept, but its file no longer exists.
        rest = []
        counters.written -= 1
        lose(1)
    }

    private mutating func finishLine() throws(FileError) {
        while !rest.isEmpty {
            let count = try destination.write(rest.span)
            guard count > 0 else { throw FileError("write", code: 0) }
            rest.removeFirst(count)
        }
    }

    private mutating func reportLosses(at time: WallTime) throws(FileError) {
        guard unreported > 0 else { return }
        var event = EventRecord(
            time: time,
            level: .warning,
            event: .log,
            message: "lines were dropped",
            facts: [(LogKey.dropped.name, .number(unreported))]
        )
        if let error = counters.lastError { event.add(LogKey.reason.name, .text("\(error)")) }
        // Some formats have no line for the notice; /metrics has the counter.
        let count = unreported
        unreported = 0
        do {
            try report(event)
        } catch {
            if rest.isEmpty { unreported = count }
            throw error
        }
    }

    /// Writes a notice.
    private mutating func report(_ event: EventRecord) throws(FileError) {
        notice.removeAll()
        encoder.encode(event, to: notice)
        if format != .json {
            let json = notice.span.array
            notice.removeAll()
            format.append(json: json.span, to: notice)
        }
        var written = 0
        defer {
            if written > 0, written < notice.count {
                rest = notice.span.extracting(written..<notice.count).array
            }
        }
        try write(all: notice.span, written: &written)
    }

    private func write(all lines: Span<UInt8>, written: inout Int) throws(FileError) {
        while written < lines.count {
            let piece = lines.extracting(written..<lines.count)
            let count = try destination.write(piece)
            guard count > 0 else { throw FileError("write", code: 0) }
            written += count
        }
    }

    /// Keeps the rest of the partly written line, and drops the lines after it.
    private mutating func keepLine(of lines: Span<UInt8>, written: Int) {
        let newline = UInt8(ascii: "\n")
        var next = written
        if written > 0, lines[written - 1] != newline {
            let end = lines.firstIndex(of: newline, from: written) ?? lines.count - 1
            rest = lines.extracting(written..<(end + 1)).array
            next = end + 1
        }
        counters.written += lineCount(lines.extracting(0..<next))
        lose(lineCount(lines.extracting(next..<lines.count)))
    }

    private mutating func lose(_ count: Int) {
        counters.dropped += count
        unreported += count
    }

    private func lineCount(_ lines: Span<UInt8>) -> Int {
        var count = 0
        for index in lines.indices where lines[index] == UInt8(ascii: "\n") { count += 1 }
        return count
    }
}
