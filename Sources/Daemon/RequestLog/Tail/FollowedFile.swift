import NetproxySystem

/// Reads the lines appended to a log file since the last call, even if the file was rotated, removed or
/// truncated in the meantime.
struct FollowedFile {
    private static let blockSize = 256 * 1024
    private static let newline = UInt8(ascii: "\n")
    /// The maximum number of attempts of one call to find the next file during rotations.
    private static let attempts = 100

    private let path: String
    private var file: ReadableFile?
    private var offset = 0
    /// The beginning of a line whose end has not been written yet.
    private var partial: [UInt8] = []
    /// The newest rotated file, if there was no current file at the start.
    private var predecessor: FileStatus?
    /// Whether the last call did not find the file among the rotated ones.
    private var isLost = false

    /// Follows a file from its beginning; `skipToEnd` skips the existing lines.
    init(path: String) {
        self.path = path
    }

    /// Skips all whole lines currently in the file.
    mutating func skipToEnd() throws(FileError) {
        file = try Self.open(path)
        guard let file else {
            predecessor = try Self.open("\(path).1")?.status
            return
        }
        offset = try Self.endOfLines(in: file)
    }

    /// Returns the last `count` lines that satisfy the filter, oldest first.
    ///
    /// Reads this file and its rotated predecessors, up to the position at which `newLines` continues.
    func last(_ count: Int, where filter: [WhereExpression]) throws(FileError) -> [LogLine] {
        var found: [LogLine] = []
        var number = 0
        var next = file.map { (file: $0, end: offset) }
        if next == nil {
            // The file was rotated, and nothing has been written since.
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

    /// Returns a rotated file and the end of its last whole line.
    private func older(
        _ number: Int
    ) throws(FileError) -> (file: ReadableFile, end: Int)? {
        guard let file = try Self.open("\(path).\(number)") else { return nil }
        return (file, try Self.endOfLines(in: file))
    }

    /// Returns the whole lines appended since the last call, to every file that existed in the meantime.
    mutating func newLines() throws(FileError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var (number, failures) = (1, 0)
        var earlier: [FileStatus]?
        while failures < Self.attempts {
            if let file {
                try read(file, into: &lines)
                guard try isMoved(file) else { break }
                // Lines may have been appended before the file was moved.
                try read(file, into: &lines)
            }
            switch try successor(from: number) {
            case .file(let next, let found):
                startFile(next)
                (number, failures, isLost) = (max(found - 1, 1), 0, false)
            case .none:
                return lines
            case .unclear:
                (failures, earlier) = (failures + 1, nil)
            case .unknown:
                failures += 1
                // Open the file before listing the rotated ones, so that no file is missed between the two
                // steps.
                let next = try Self.open(path)
                let rotated = try rotatedFiles()
                // A list is valid only if no rotation took place meanwhile, that is, if the next list is the
                // same.
                let isSteady = rotated.hasSameFiles(as: earlier)
                earlier = rotated.files.map(\.status)
                guard isSteady else { continue }
                if let file, try file.status.isLinked, !isLost {
                    // The file was moved elsewhere, if the next call confirms it.
                    isLost = true
                    return lines
                }
                guard let next = rotated.files.first?.file ?? next else { return lines }
                startFile(next)
                (number, failures, isLost, earlier) = (1, 0, false, nil)
            }
        }
        return lines
    }

    private mutating func startFile(_ next: ReadableFile) {
        file = next
        offset = 0
        partial = []
    }

    /// The successor of the current file.
    private enum Successor {
        /// The next file, and the number of the current file.
        case file(ReadableFile, number: Int)
        /// There is no successor yet.
        case none
        /// A rotation is in progress.
        case unclear
        /// The current file is not among the rotated ones: it was removed, or moved elsewhere.
        case unknown
    }

    /// Returns the file after the current one.
    ///
    /// Numbers only grow. If the current file has the same number before and after opening the one below it,
    /// no rotation has put another file there.
    private func successor(from start: Int) throws(FileError) -> Successor {
        guard let own = try file?.status ?? predecessor,
            let number = try number(of: own, from: start)
        else { return .unknown }
        if let next = try Self.open(name(number - 1)) {
            return try isNumbered(own, number) ? .file(next, number: number) : .unclear
        }
        guard number > 1 else { return try isNumbered(own, number) ? .none : .unclear }
        // A rotation in progress leaves one number free, possibly for long if its process has to wait.
        guard let next = try Self.open(name(number - 2)), try isNumbered(own, number),
            try FileSystem.status(name(number - 1)) == nil
        else { return .unclear }
        return .file(next, number: number)
    }

    private func name(_ number: Int) -> String { number == 0 ? path : "\(path).\(number)" }

    private func number(of own: FileStatus, from start: Int) throws(FileError) -> Int? {
        var (number, missing) = (start, 0)
        while missing < 2 {
            if let status = try FileSystem.status(name(number)) {
                if status.isSameFile(as: own) { return number }
            } else {
                missing += 1
            }
            number += 1
        }
        return nil
    }

    private func isNumbered(_ own: FileStatus, _ number: Int) throws(FileError) -> Bool {
        try FileSystem.status(name(number)).map { $0.isSameFile(as: own) } ?? false
    }

    /// The rotated files that may be newer than a file that is not among them.
    private struct RotatedFiles {
        /// The files, oldest first.
        var files: [(file: ReadableFile, status: FileStatus)] = []

        func hasSameFiles(as earlier: [FileStatus]?) -> Bool {
            guard let earlier, earlier.count == files.count else { return false }
            return zip(earlier, files).allSatisfy { $0.isSameFile(as: $1.status) }
        }
    }

    private func rotatedFiles() throws(FileError) -> RotatedFiles {
        var rotated = RotatedFiles()
        let open = try file?.status
        // After a move elsewhere, the successor is the current file at the path.
        if let open, open.isLinked { return rotated }
        let own = open ?? predecessor
        var (number, missing) = (1, 0)
        while missing < 2 {
            if let next = try Self.open(name(number)) {
                let status = try next.status
                if own.map({ status.modified >= $0.modified }) ?? true {
                    rotated.files.insert((next, status), at: 0)
                }
            } else {
                missing += 1
            }
            number += 1
        }
        return rotated
    }

    private func isMoved(_ file: ReadableFile) throws(FileError) -> Bool {
        let own = try file.status
        do {
            return try !FileStatus.of(path: path).isSameFile(as: own)
        } catch  where error.isMissing {
            // The file was renamed, and the new file does not exist yet: keep the old one for now.
            return false
        }
    }

    private mutating func read(
        _ file: ReadableFile,
        into lines: inout [[UInt8]]
    ) throws(FileError) {
        if try file.status.size < offset {
            // The file was truncated; its whole content is new.
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

    /// Returns the end of the last whole line of a file.
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
