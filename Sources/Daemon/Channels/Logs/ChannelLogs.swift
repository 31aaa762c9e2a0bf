import FoundationEssentials
package import NetproxyConfig
import NetproxyEventIO
package import NetproxyRequestLog
import NetproxySettings
import NetproxySystem
import NetworkCore
import Synchronization

/// The logs of the channels and of the daemon itself.
///
/// Each file has one stream of lines until the daemon stops. A channel assembled again by a reload continues
/// its earlier stream: two streams would rotate the same file, and the older one would keep removed files
/// open.
///
/// One thread writes all logs, so that a hanging disk blocks no loop.
package final class ChannelLogs: Sendable {
    private struct State {
        var settings: LogSettings
        /// The sinks, by file name.
        var sinks: [String: LogSink] = [:]
    }

    /// The lines of all logs as they are written.
    package let feed = LogFeed()
    /// The single sink of all channels, so that lines never mix; `nil` if the log is written to files.
    private let stream: LogSink?
    private let writer: LogWriter
    private let state: Mutex<State>
    private let report: OperatorReport
    /// Reports lost lines, once for all channels: a full disk affects every channel.
    private let losses: RateLimitedReport

    /// Creates the logs.
    ///
    /// - Throws: an error if the directory cannot be created, no journal is listening, or no descriptors are
    ///   left.
    package init(_ settings: LogSettings, report: @escaping OperatorReport) throws {
        self.report = report
        losses = RateLimitedReport(report)
        if settings.output == .file { try ChannelLogs.makeDirectory(settings.directory) }
        do {
            writer = try LogWriter()
            try writer.begin()
        } catch {
            throw IOError.system(
                "log: \(error); raise the limits of open files and processes (LimitNOFILE=, TasksMax=, "
                    + "ulimit -n, -u)"
            )
        }
        stream = try ChannelLogs.stream(settings, writer)
        state = Mutex(State(settings: settings))
    }

    deinit {
        writer.end()
    }

    /// Returns the log of a channel, or the daemon's own.
    ///
    /// An existing stream keeps its first labels for its own notices.
    package func log(_ labels: LogLabels) -> ChannelLog {
        let name = labels.channel ?? LogLabels.ownLog
        return state.withLock { state in
            let format = state.settings.lineFormat
            let sink =
                stream ?? state.sinks[name]
                ?? LogSink(
                    labels: labels,
                    to: ChannelLogs.file(named: name, state.settings),
                    format: format,
                    writer: writer,
                    onLoss: { [weak self] in self?.reportLoss(of: name, $0) }
                )
            if stream == nil { state.sinks[name] = sink }
            sink.revive()
            return ChannelLog(labels: labels, sink: sink, feed: feed, format: format)
        }
    }

    private func reportLoss(of name: String, _ error: FileError) {
        let directory = state.withLock { $0.settings.output == .file ? $0.settings.directory : nil }
        let place = directory.map { LogDirectory.path(of: name, in: $0) } ?? "\(name).log"
        losses("\(place): \(error); its lines are lost until it can be written")
    }

    /// Applies a new directory or rotation, and creates the directory if it is missing.
    ///
    /// - Throws: an error if the directory cannot be created.
    package func move(to wanted: LogSettings) async throws {
        let present = state.withLock { $0.settings }
        guard present.output == .file else { return }
        var next = present
        next.directory = wanted.directory
        next.rotate = wanted.rotate
        let isMissing = try await ChannelLogs.makeMissingDirectory(next.directory)
        // If the directory was removed, its open files have no name any more; open them again.
        guard next != present else { return isMissing ? reopenFiles() : () }
        let sinks = state.withLock { [next] state in
            state.settings = next
            return state.sinks
        }
        for (name, sink) in sinks {
            sink.redirect { [next] in ChannelLogs.file(named: name, next) }
        }
    }

    /// Reopens the files, and creates their directory if it was removed.
    package func reopen() async {
        let settings = state.withLock { $0.settings }
        if settings.output == .file {
            do {
                _ = try await ChannelLogs.makeMissingDirectory(settings.directory)
            } catch {
                report("\(error)")
            }
        }
        reopenFiles()
    }

    private func reopenFiles() {
        for sink in state.withLock({ $0.sinks }).values { sink.reopen() }
    }

    /// Completes the files after the last line, and waits until all lines are written or `limit` has passed.
    package func finish(within limit: Duration) async {
        for sink in state.withLock({ $0.sinks }).values + (stream.map { [$0] } ?? []) {
            sink.finish(at: .now, now: .now)
        }
        guard await !writer.flush(within: limit) else { return }
        report("the last lines of the request log are lost: the disk does not answer")
    }

    /// Closes the files of all other channels; an exchange that ends later opens its file again.
    package func close(except channels: some Sequence<String>) {
        let kept = Set(channels).union([LogLabels.ownLog])
        for (name, sink) in state.withLock({ $0.sinks }) where !kept.contains(name) {
            sink.retire()
        }
    }

    /// The number of lines lost since the start.
    package var droppedLines: Int {
        if let stream { return stream.counters.dropped }
        return state.withLock { $0.sinks }.values.reduce(0) { $0 + $1.counters.dropped }
    }

    private static func file(named name: String, _ settings: LogSettings) -> RotatingFile {
        let limits = settings.rotate.map {
            RotatingFile.Limits(size: $0.size.bytes, keep: $0.keep)
        }
        return RotatingFile(
            path: LogDirectory.path(of: name, in: settings.directory),
            limits: limits ?? RotatingFile.Limits(size: .max, keep: 0)
        )
    }

    private static func stream(_ settings: LogSettings, _ writer: LogWriter) throws -> LogSink? {
        switch settings.output {
        case .file: return nil
        case .stdout:
            return LogSink(
                labels: LogLabels(),
                to: StandardOutputDestination(),
                format: settings.lineFormat,
                writer: writer
            )
        case .journal:
            let path = LogSettings.journalPath
            guard FileManager.default.fileExists(atPath: path) else {
                throw IOError.system(
                    """
                    log.output: nothing is listening at \(path): is systemd-journald running? \
                    Otherwise use file or stdout
                    """
                )
            }
            let journal = try JournalDestination(path: path, format: settings.format)
            return LogSink(labels: LogLabels(), to: journal, writer: writer)
        }
    }

    /// Creates a missing directory off the event loops, and returns whether it was missing.
    private static func makeMissingDirectory(_ path: String) async throws -> Bool {
        try await OffLoop.run {
            guard try FileSystem.status(path) == nil else { return false }
            try makeDirectory(path)
            return true
        }
    }

    private static func makeDirectory(_ path: String) throws {
        do {
            try LogDirectory.create(path)
        } catch {
            throw IOError.system("log.directory: \(error)")
        }
    }
}

extension LogSettings {
    /// The format of the lines from the loops.
    ///
    /// For the journal it is JSON, because the journal destination parses the lines and formats its messages
    /// itself.
    fileprivate var lineFormat: LogFormat { output == .journal ? .json : format }
}
