import Bytes
import Synchronization
package import System

/// One stream of whole lines that several event loops write to.
///
/// Callable from any thread; a flush holds the lock for one system call. Nothing here fails: what
/// cannot be written is dropped and counted, and the next line that can be written is preceded by
/// one that tells how many were lost.
package final class LogSink: Sendable {
    /// What became of the lines.
    package struct Counters: Sendable, Equatable {
        /// Lines that are in the file.
        package var written = 0
        /// Lines that were lost.
        package var dropped = 0
        /// Why lines were lost last.
        package var lastError: FileError?
    }

    fileprivate struct State {
        var destination: any LogDestination
        let encoder: LineEncoder
        let format: LogFormat
        var counters = Counters()
        /// What of `counters.dropped` no line has told yet.
        var untold = 0
        /// The rest of a line whose beginning is in the file already.
        var rest: [UInt8] = []
        var generation = 0
        /// Whether the last lines were lost.
        var isLosing = false
        /// Whether nobody writes any more but what still ends.
        var isRetired = false
        let notice = OutputBuffer(capacity: 512)
    }

    private let state: Mutex<State>
    private let onLoss: (@Sendable (FileError) -> Void)?

    /// Makes a stream.
    ///
    /// - Parameters:
    ///   - labels: those of its notices about lost lines.
    ///   - destination: where the lines go.
    ///   - format: that of its notices.
    ///   - onLoss: told why, when lines begin to be lost; runs on the thread that writes.
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

    /// What became of the lines so far.
    package var counters: Counters {
        state.withLock { $0.counters }
    }

    /// Opens the file anew (SIGUSR1).
    package func reopen() {
        state.withLock { $0.destination.reopen() }
    }

    /// Closes the file, and again behind each write that still comes.
    package func retire() {
        state.withLock { state in
            state.isRetired = true
            state.destination.reopen()
        }
    }

    /// Keeps the file open from now on.
    package func revive() {
        state.withLock { $0.isRetired = false }
    }

    /// Goes on in another place.
    package func redirect(to destination: sending any LogDestination) {
        let next = Mutex<(any LogDestination)?>(destination)
        state.withLock { state in
            guard let destination = next.withLock({ $0.take() }) else { return }
            state.destination = destination
            // No generation of any destination: the rest of a line stays where its beginning is.
            state.generation = -1
        }
    }

    /// Writes what is missing where no next line brings it along: the end of a line that was cut, and
    /// how many were lost.
    package func finish(at time: WallTime, now: ContinuousClock.Instant) {
        state.withLock { state in
            guard !state.rest.isEmpty || state.untold > 0 else { return }
            let nothing: [UInt8] = []
            _ = state.write(nothing.span, count: 0, at: time, now: now)
        }
    }

    /// Writes whole lines, or drops them.
    ///
    /// `count` is the number of lines; `time` is for the notice about lines that were lost before.
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
    /// Returns why lines are lost from now on.
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
            try tellLosses(at: time)
            if let trouble = destination.takeTrouble() {
                try tell(
                    EventRecord(
                        time: time,
                        level: .warning,
                        event: .log,
                        message: "the file is too long and cannot be rotated",
                        facts: [("reason", .text("\(trouble)"))]
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
        // The line was counted as written when its rest was kept, but its file is gone.
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

    private mutating func tellLosses(at time: WallTime) throws(FileError) {
        guard untold > 0 else { return }
        var event = EventRecord(
            time: time,
            level: .warning,
            event: .log,
            message: "lines were dropped",
            facts: [("dropped", .number(untold))]
        )
        if let error = counters.lastError { event.facts.append(("reason", .text("\(error)"))) }
        // Also in a form without such a line: the counter of /metrics tells it.
        let count = untold
        untold = 0
        do {
            try tell(event)
        } catch {
            if rest.isEmpty { untold = count }
            throw error
        }
    }

    /// Writes a line of our own.
    private mutating func tell(_ event: EventRecord) throws(FileError) {
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

    /// Keeps what is missing of the line in whose middle the writing stopped, and drops the rest.
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
        untold += count
    }

    private func lineCount(_ lines: Span<UInt8>) -> Int {
        var count = 0
        for index in lines.indices where lines[index] == UInt8(ascii: "\n") { count += 1 }
        return count
    }
}
