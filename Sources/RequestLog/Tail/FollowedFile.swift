import System

/// Reads a log file that grows: the lines appended since the last call, even if the file was rotated,
/// removed or truncated in the meantime.
struct FollowedFile {
    private static let blockSize = 256 * 1024
    private static let newline = UInt8(ascii: "\n")
    /// How often a call looks for the file being read while it is being rotated.
    private static let attempts = 100

    private let path: String
    private var file: ReadableFile?
    private var offset = 0
    /// The beginning of a line whose end has not been written yet.
    private var partial: [UInt8] = []
    /// The youngest rotated file at a start without a file of today.
    private var predecessor: FileStatus?
    /// Whether the last call did not find the file among the rotated ones.
    private var isLost = false

    /// Follows a file from its beginning, or from where `skipToEnd` finds its end.
    init(path: String) {
        self.path = path
    }

    /// Skips all whole lines that the file has now.
    mutating func skipToEnd() throws(FileError) {
        file = try Self.open(path)
        guard let file else {
            predecessor = try Self.open("\(path).1")?.status
            return
        }
        offset = try Self.endOfLines(in: file)
    }

    /// The last `count` lines that satisfy the filter, oldest first, from this file and its rotated
    /// predecessors, up to where `newLines` continues.
    func last(_ count: Int, where filter: [WhereExpression]) throws(FileError) -> [LogLine] {
        var found: [LogLine] = []
        var number = 0
        var next = file.map { (file: $0, end: offset) }
        if next == nil {
            // Rotated, and nothing has been written since.
            number = 1
            next = try older(number)
        }
        while let (file, end) = next {
            var lines = BackwardLines(file, before: end)
            while found.count < count, let bytes = try lines.next() {
                guard let line = LogLine(bytes), filter.allSatisfy({ $0.matches(line) }) else {
                    continue
                }
                found.append(line)
            }
            guard found.count < count else { break }
            number += 1
            next = try older(number)
        }
        return found.reversed()
    }

    /// A rotated file and the end of its last whole line.
    private func older(
        _ number: Int
    ) throws(FileError) -> (file: ReadableFile, end: Int)? {
        guard let file = try Self.open("\(path).\(number)") else { return nil }
        return (file, try Self.endOfLines(in: file))
    }

    /// The whole lines appended since the last call, of every file that there was in the meantime.
    mutating func newLines() throws(FileError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var attempts = 0
        while true {
            if let file {
                try read(file, into: &lines)
                guard try isMoved(file) else { return lines }
                // Lines that were appended before the file was moved away.
                try read(file, into: &lines)
            }
            // Opened before the look at the rotated files: if none of those comes in between then, this
            // one follows directly.
            let next = try Self.open(path)
            switch try successors() {
            case .rotated(let missed):
                for file in missed {
                    startFile(file)
                    try read(file, into: &lines)
                }
            case .none:
                guard let next else { return lines }
                startFile(next)
                isLost = false
            case .unknown where isLost:
                // Also at the second call: it was moved elsewhere, and not by a rotation under way.
                guard let next else { return lines }
                startFile(next)
                isLost = false
            case .unknown:
                attempts += 1
                guard attempts < Self.attempts else {
                    isLost = true
                    return lines
                }
            }
        }
    }

    private mutating func startFile(_ next: ReadableFile) {
        file = next
        offset = 0
        partial = []
    }

    /// The files that were created after the one being read, and rotated.
    private enum Successors {
        /// Oldest first; there may be younger ones by now.
        case rotated([ReadableFile])
        /// None: the file of today follows.
        case none
        /// The file being read is not among the rotated ones: moved elsewhere, or being moved now.
        case unknown
    }

    private func successors() throws(FileError) -> Successors {
        let own = try file?.status ?? predecessor
        var files: [ReadableFile] = []
        var (number, missing) = (0, 0)
        // A rotation under way leaves one number free, also for long if its process has to wait.
        while missing < 2 {
            number += 1
            guard let next = try Self.open("\(path).\(number)") else {
                missing += 1
                continue
            }
            let status = try next.status
            if let own, status.isSameFile(as: own) { return Self.found(files) }
            // Rotated while the look goes on: everything has moved up by one.
            if let last = try files.last?.status, status.isSameFile(as: last) { return .unknown }
            files.append(next)
        }
        guard let own else { return Self.found(files) }
        if let file, try file.status.isLinked { return .unknown }
        // Removed, by rotation or otherwise.
        var younger: [ReadableFile] = []
        for file in files where try file.status.modified >= own.modified { younger.append(file) }
        return Self.found(younger)
    }

    private static func found(_ newestFirst: [ReadableFile]) -> Successors {
        newestFirst.isEmpty ? .none : .rotated(newestFirst.reversed())
    }

    private func isMoved(_ file: ReadableFile) throws(FileError) -> Bool {
        let own = try file.status
        do {
            return try !FileStatus.of(path: path).isSameFile(as: own)
        } catch  where error.isMissing {
            // Renamed, and the new file does not exist yet: keep the old one for now.
            return false
        }
    }

    private mutating func read(
        _ file: ReadableFile,
        into lines: inout [[UInt8]]
    ) throws(FileError) {
        if try file.status.size < offset {
            // Truncated: everything in it is new.
            offset = 0
            partial = []
        }
        while true {
            let block = try file.read(Self.blockSize, at: offset)
            guard !block.isEmpty else { return }
            offset += block.count
            partial += block
            var start = 0
            while let end = partial[start...].firstIndex(of: Self.newline) {
                lines.append(Array(partial[start..<end]))
                start = end + 1
            }
            partial.removeFirst(start)
        }
    }

    private static func open(_ path: String) throws(FileError) -> ReadableFile? {
        do {
            return try ReadableFile(path: path)
        } catch  where error.isMissing {
            return nil
        }
    }

    /// The end of the last whole line of a file.
    private static func endOfLines(in file: ReadableFile) throws(FileError) -> Int {
        var end = try file.status.size
        while end > 0 {
            let start = max(0, end - 4096)
            let block = try file.read(end - start, at: start)
            if let last = block.lastIndex(of: newline) { return start + last + 1 }
            end = start
        }
        return 0
    }
}
