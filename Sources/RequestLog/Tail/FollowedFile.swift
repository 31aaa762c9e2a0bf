import System

/// Reads a log file that grows: the lines appended since the last call, even if the file was rotated,
/// removed or truncated in the meantime.
struct FollowedFile {
    private static let blockSize = 256 * 1024
    private static let newline = UInt8(ascii: "\n")

    private let path: String
    private var file: ReadableFile?
    private var offset = 0
    /// The beginning of a line whose end has not been written yet.
    private var partial: [UInt8] = []

    /// Follows a file from its beginning, or from where `skipToEnd` finds its end.
    init(path: String) {
        self.path = path
    }

    /// Skips all whole lines that the file has now.
    mutating func skipToEnd() throws(FileError) {
        file = try Self.open(path)
        guard let file else { return }
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

    /// The whole lines appended since the last call.
    mutating func newLines() throws(FileError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        if let file {
            // Lines appended before the file was moved away.
            try read(file, into: &lines)
            guard try isMoved(file) else { return lines }
            try read(file, into: &lines)
            for missed in try rotated(after: file.status) {
                startFile(missed)
                try read(missed, into: &lines)
            }
        }
        guard let next = try Self.open(path) else { return lines }
        startFile(next)
        try read(next, into: &lines)
        return lines
    }

    private mutating func startFile(_ next: ReadableFile) {
        file = next
        offset = 0
        partial = []
    }

    /// The files that were created and rotated since the last call, oldest first: those newer than the
    /// file being read, if rotation has moved it beyond `.1`.
    private func rotated(after own: FileStatus) throws(FileError) -> [ReadableFile] {
        var files: [ReadableFile] = []
        while let next = try Self.open("\(path).\(files.count + 1)") {
            if try next.status.isSameFile(as: own) { return files.reversed() }
            files.append(next)
        }
        // Moved elsewhere, or removed, by rotation or otherwise.
        guard !own.isLinked else { return [] }
        var younger: [ReadableFile] = []
        for file in files.reversed() where try file.status.modified >= own.modified {
            younger.append(file)
        }
        return younger
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
