import Bytes
import Synchronization
package import System

/// A stream of whole lines that several event loops write to.
///
/// Callable from any thread; a flush holds the lock for one system call. Writing never fails for the
/// caller: lines that cannot be written are dropped and counted, and the next successful write begins
/// with a line that states their number.
package final class LogSink: Sendable {
    /// The numbers of lines written and lost.
    package struct Counters: Sendable, Equatable {
        /// Lines written.
        package var written = 0
        /// Lines lost.
        package var dropped = 0
        /// The reason of the most recent loss.
        package var lastError: FileError?
    }

    fileprivate struct State {
        var destination: any LogDestination
        let encoder: LineEncoder
        let format: LogFormat
        var counters = Counters()
        /// The part of `counters.dropped` that no line has reported yet.
        var unreported = 0
        /// The rest of a line that was written only in part.
        var rest: [UInt8] = []
        var generation = 0
        /// Whether the most recent lines were lost.
        var isLosing = false
        /// Whether only exchanges that are still running write to it.
        var isRetired = false
        let notice = OutputBuffer(capacity: 512)
    }

    private let state: Mutex<State>
    private let onLoss: (@Sendable (FileError) -> Void)?

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - labels: the labels of notices about lost lines.
    ///   - destination: what the lines are written to.
    ///   - format: the format of notices.
    ///   - onLoss: called with the reason when lines begin to be lost, on the writing thread.
    package init(
        labels: LogLabels,
        to destination: sending any LogDestination,
        format: LogFormat = .json,
        onLoss: (@Sendable (FileError) -> Void)? = nil
    ) {
        self.onLoss = onLoss
        state = Mutex(
            State(destination: destination, encoder: LineEncoder(labels: labels), format: format)
        )
    }

    /// The numbers of lines written and lost so far.
    package var counters: Counters {
        state.withLock { $0.counters }
    }

    /// Reopens the file (SIGUSR1).
    package func reopen() {
        state.withLock { $0.destination.reopen() }
    }

    /// Closes the file now, and again after each later write.
    package func retire() {
        state.withLock { state in
            state.isRetired = true
            state.destination.reopen()
        }
    }

    /// Reverses ``retire()``: the file stays open.
    package func revive() {
        state.withLock { $0.isRetired = false }
    }

    /// Continues with another destination.
    package func redirect(to destination: sending any LogDestination) {
        let next = Mutex<(any LogDestination)?>(destination)
        state.withLock { state in
            guard let destination = next.withLock({ $0.take() }) else { return }
            state.destination = destination
            // Matches no destination: the rest of a partly written line is not written to this one.
            state.generation = -1
        }
    }

    /// Writes the rest of a cut line and the notice about lost lines, which otherwise wait for the
    /// next line.
    package func finish(at time: WallTime, now: ContinuousClock.Instant) {
        state.withLock { state in
            guard !state.rest.isEmpty || state.unreported > 0 else { return }
            let nothing: [UInt8] = []
            _ = state.write(nothing.span, count: 0, at: time, now: now)
        }
    }

    /// Writes whole lines, or drops them.
    ///
    /// `count` is the number of lines; `time` is the time of a notice about lines lost earlier.
    package func write(
        _ lines: Span<UInt8>,
        count: Int,
        at time: WallTime,
        now: ContinuousClock.Instant
    ) {
        guard !lines.isEmpty else { return }
        let loss = state.withLock { $0.write(lines, count: count, at: time, now: now) }
        if let loss { onLoss?(loss) }
    }
}

extension LogSink.State {
    /// Writes lines; returns the reason if lines begin to be lost.
    fileprivate mutating func write(
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
                        facts: [("reason", .text("\(warning)"))]
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
        // Counted as written when its rest was kept, but its file is gone.
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
            facts: [("dropped", .number(unreported))]
        )
        if let error = counters.lastError { event.facts.append(("reason", .text("\(error)"))) }
        // Some formats have no line for it; /metrics has the counter.
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

    /// Keeps the rest of the line that was written in part, and drops the lines after it.
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
