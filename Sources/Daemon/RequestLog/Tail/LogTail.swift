package import NetproxySystem

/// Reads the logs of one or several channels for `netproxy tail`, with or without a running daemon.
///
/// Lines are merged in the order in which their exchanges ended.
package struct LogTail {
    private let directory: String
    private let channels: [String]
    private let filter: [WhereExpression]
    private var files: [String: FollowedFile] = [:]

    /// Opens the logs of the channels.
    ///
    /// Without channels, it reads every log in the directory, including logs created later. A line must
    /// satisfy all conditions of the filter.
    ///
    /// - Throws: `FileError` if the directory exists but cannot be read.
    package init(
        directory: String,
        channels: [String] = [],
        filter: [WhereExpression] = []
    ) throws(FileError) {
        self.directory = directory
        self.channels = channels
        self.filter = filter
        for channel in try names() {
            var file = FollowedFile(path: LogDirectory.path(of: channel, in: directory))
            try file.skipToEnd()
            files[channel] = file
        }
    }

    /// The named channels without a log.
    package var missing: [String] {
        get throws(FileError) {
            let present = Set(try LogDirectory.channels(in: directory))
            return channels.filter { !present.contains($0) }
        }
    }

    /// Whether there are no logs yet.
    package var isEmpty: Bool { files.isEmpty }

    /// Returns the last `count` lines written before this value was created, oldest first, including rotated
    /// files.
    ///
    /// The order is by the end of exchanges: an hour-long download that has just failed comes last.
    package func last(_ count: Int) throws(FileError) -> [LogLine] {
        var lines: [LogLine] = []
        // Event loops flush independently, so a file is only roughly sorted.
        let margin = min(count, Int.max - 256) + 256
        for name in files.keys.sorted() {
            lines += try files[name]?.last(margin, where: filter) ?? []
        }
        return Array(Self.merged(lines).suffix(count))
    }

    /// Returns the lines appended since the last call, oldest first.
    ///
    /// - Throws: `FileError` if the directory or a file cannot be read.
    package mutating func newLines() throws(FileError) -> [LogLine] {
        var lines: [LogLine] = []
        for name in try names() {
            let path = LogDirectory.path(of: name, in: directory)
            for bytes in try files[name, default: FollowedFile(path: path)].newLines() {
                guard let line = LogLine(bytes), filter.allSatisfy({ $0.matches(line) }) else {
                    continue
                }
                lines.append(line)
            }
        }
        return Self.merged(lines)
    }

    /// Shows new lines until `pause` or `show` throws.
    ///
    /// `pause` waits before the next read; 200 ms appear immediate and cost almost nothing.
    package mutating func follow(
        pause: () async throws -> Void,
        show: ([LogLine]) async throws -> Void
    ) async throws {
        while true {
            let lines = try newLines()
            if !lines.isEmpty { try await show(lines) }
            try await pause()
        }
    }

    private func names() throws(FileError) -> [String] {
        guard channels.isEmpty else { return channels }
        // A recently rotated file is not listed, but may have unread lines.
        return try Set(LogDirectory.channels(in: directory)).union(files.keys).sorted()
    }

    /// Sorts lines by the end of their exchanges; lines with the same time keep their order.
    private static func merged(_ lines: [LogLine]) -> [LogLine] {
        lines.map { (end: $0.end, line: $0) }
            .enumerated()
            .sorted { ($0.element.end, $0.offset) < ($1.element.end, $1.offset) }
            .map(\.element.line)
    }
}
