package import System

/// When a log file makes room for a new one, and how many old ones stay.
package struct Rotation: Sendable, Equatable {
    /// The size that a file does not exceed, in bytes, unless one flush alone does.
    package var size: Int
    /// How many old files stay; the youngest has the suffix `.1`.
    package var keep: Int

    /// Default 64 MiB and 5 files, as in the configuration.
    package init(size: Int = 64 << 20, keep: Int = 5) {
        self.size = size
        self.keep = keep
    }
}

/// A log file under a path: rotated by size, and opened anew when another tool moved or removed it.
package final class RotatingFile: LogDestination {
    /// How often the path is compared with the open file, and a failed opening is tried again.
    private static let checkInterval = Duration.seconds(1)

    /// The path of the file that is written.
    package let path: String
    private let rotation: Rotation
    private var file: AppendFile?
    private var status: FileStatus?
    private var size = 0
    private var nextCheck: ContinuousClock.Instant?
    private var failure: FileError?
    /// Why the file is too long.
    private var rotationFailure: FileError?
    private var isRotationFailureTold = false
    /// Counts the files that were opened, one that was emptied again.
    package private(set) var generation = 0

    /// Names a file; it is opened when the first line comes.
    package init(path: String, rotation: Rotation) {
        self.path = path
        self.rotation = rotation
    }

    /// Opens the file if none is open or another one stands under the path, and rotates if `count`
    /// more bytes do not fit.
    ///
    /// Where it cannot rotate (a directory that belongs to somebody else), the file grows, and
    /// `takeTrouble` tells of it.
    package func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError) {
        if nextCheck.map({ now >= $0 }) ?? true {
            nextCheck = now + Self.checkInterval
            failure = nil
            rotationFailure = nil
            check()
        }
        if let failure { throw failure }
        do {
            if file == nil { try open() }
            guard size > 0, size + count > rotation.size, rotationFailure == nil else { return }
            guard rotated() else { return }
            try open()
        } catch {
            // Not again for each flush: a directory that is gone costs one call a second.
            failure = error
            throw error
        }
    }

    /// Why the file could not be rotated, once until it could.
    package func takeTrouble() -> FileError? {
        guard let rotationFailure, !isRotationFailureTold else { return nil }
        isRotationFailureTold = true
        return rotationFailure
    }

    /// Writes with one system call.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        // Unreachable: `prepare` has opened the file or thrown.
        guard file != nil else { return 0 }
        let written: Int
        do {
            written = try file?.write(bytes) ?? 0
        } catch {
            // Somebody who makes room may empty the file at any time.
            nextCheck = nil
            throw error
        }
        size += written
        return written
    }

    /// Closes the file; the path is opened anew for the next line.
    package func reopen() {
        file = nil
        failure = nil
    }

    private func check() {
        guard file != nil else { return }
        do {
            let current = try FileStatus.of(path: path)
            if let status, current.isSameFile(as: status) {
                // Somebody may have emptied it (copytruncate); O_APPEND follows by itself, but the
                // rest of a line has no beginning any more.
                if current.size < size { generation += 1 }
                size = current.size
            } else {
                file = nil
            }
        } catch {
            // Moved or removed, or the path cannot be reached any more, which opening will tell.
            file = nil
        }
    }

    private func open() throws(FileError) {
        let opened = try AppendFile(path: path)
        let found = try opened.status
        file = consume opened
        status = found
        size = found.size
        generation += 1
        if size > 0, isCut() { _ = try write([UInt8(ascii: "\n")].span) }
    }

    /// Whether the file ends within a line: a full disk cut it, and then the daemon ended.
    private func isCut() -> Bool {
        // One that cannot be read is taken as it is.
        guard let reader = try? ReadableFile(path: path),
            let last = try? reader.read(1, at: size - 1).first
        else { return false }
        return last != UInt8(ascii: "\n")
    }

    /// Moves the file away; no if it is still there.
    private func rotated() -> Bool {
        do throws(FileError) {
            try rotate()
        } catch {
            rotationFailure = error
            return false
        }
        file = nil
        isRotationFailureTold = false
        return true
    }

    private func rotate() throws(FileError) {
        guard rotation.keep > 0 else { return try FileSystem.unlink(path) }
        // Up to the first number that is free: a try that failed has left one, and costs no file more.
        var free = 1
        while free < rotation.keep, try FileSystem.status("\(path).\(free)") != nil { free += 1 }
        for number in stride(from: free - 1, through: 1, by: -1) {
            try FileSystem.rename("\(path).\(number)", to: "\(path).\(number + 1)")
        }
        try FileSystem.rename(path, to: "\(path).1")
    }
}
