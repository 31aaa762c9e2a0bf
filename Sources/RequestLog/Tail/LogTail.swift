package import System

/// What `netproxy tail` reads, with or without a running daemon.
///
/// It is the logs of one or several channels, merged by the time when their exchanges ended, and
/// what is appended to them later.
package struct LogTail {
    private let directory: String
    private let channels: [String]
    private let filter: [WhereExpression]
    private var files: [String: FollowedFile] = [:]

    /// Looks at the channels' logs.
    ///
    /// Without a channel, at every log in the directory, also those that begin later. A line must
    /// satisfy all of the filter.
    ///
    /// - Throws: if the directory is there and cannot be read.
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

    /// The channels that were named and have no log (yet).
    package var missing: [String] {
        get throws(FileError) {
            let present = Set(try LogDirectory.channels(in: directory))
            return channels.filter { !present.contains($0) }
        }
    }

    /// Whether there is no log at all (yet).
    package var isEmpty: Bool { files.isEmpty }

    /// The last `count` lines before this value was made, oldest first, rotated files included.
    ///
    /// Oldest is what ended first: a download of an hour that has just broken off is news.
    package func last(_ count: Int) throws(FileError) -> [LogLine] {
        var lines: [LogLine] = []
        // Loops write in their own time, so that a file is not sorted to the last line.
        let margin = min(count, Int.max - 256) + 256
        for name in files.keys.sorted() {
            lines += try files[name]?.last(margin, where: filter) ?? []
        }
        return Array(Self.merged(lines).suffix(count))
    }

    /// The lines that were appended since the last call, oldest first.
    ///
    /// - Throws: if the directory or a file cannot be read.
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

    /// Hands over what is appended, until `pause` or `show` throws.
    ///
    /// `pause` waits between two looks: some 200 ms is quick enough for eyes and costs nothing.
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
        // A file that was just rotated away is not listed, but its rest is still to be read.
        return try Set(LogDirectory.channels(in: directory)).union(files.keys).sorted()
    }

    /// By the time of their end; lines of the same time keep their order.
    private static func merged(_ lines: [LogLine]) -> [LogLine] {
        lines.map { (end: $0.end, line: $0) }
            .enumerated()
            .sorted { ($0.element.end, $0.offset) < ($1.element.end, $1.offset) }
            .map(\.element.line)
    }
}
