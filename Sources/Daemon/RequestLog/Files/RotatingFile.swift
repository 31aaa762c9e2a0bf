package import NetproxySystem

/// A log file that is rotated by size, and reopened if another tool moves or removes it.
package final class RotatingFile: LogDestination {
    /// The size of a file, and the number of old files.
    package struct Limits: Sendable, Equatable {
        /// The largest size in bytes, exceeded only by a single flush that is larger.
        package var size: Int
        /// The number of old files kept; the newest has the suffix `.1`.
        package var keep: Int

        /// Creates limits; by default 64 MiB and 5 files, as in the configuration.
        package init(size: Int = 64 << 20, keep: Int = 5) {
            self.size = size
            self.keep = keep
        }
    }

    /// The interval for comparing the path with the open file, and for retrying a failed open.
    private static let checkInterval = Duration.seconds(1)

    /// How long a file stays at least once it is set aside, whatever `keep` says: `netproxy tail -f` looks
    /// every 200 ms, and must find every file however often they are rotated.
    private static let shortestStay = Duration.seconds(2)
    /// The most files beyond `keep` that stay for that reason: each rotation renames them all.
    private static let surplusLimit = 100

    /// The path of the current file.
    package let path: String
    private let limits: Limits
    private var file: AppendFile?
    private var status: FileStatus?
    private var size = 0
    private var nextCheck: ContinuousClock.Instant?
    private var failure: FileError?
    /// When the files `.1`, `.2`, … were set aside, as far as that was lately.
    private var setAside: [ContinuousClock.Instant] = []
    /// Whether there may be more old files than `keep`.
    private var mayHaveSurplus = true
    /// Why the file could not be rotated.
    private var rotationFailure: FileError?
    private var isRotationFailureReported = false
    /// Incremented for each file opened, and when the file was truncated by another tool.
    package private(set) var generation = 0

    /// Creates a destination; the first line opens the file.
    package init(path: String, limits: Limits) {
        self.path = path
        self.limits = limits
    }

    /// Opens the file if none is open or the path has another one, and rotates it if `count` more
    /// bytes do not fit.
    ///
    /// If it cannot be rotated, for example because another user owns the directory, the file grows
    /// and `takeWarning` returns the reason.
    package func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError) {
        if nextCheck.map({ now >= $0 }) ?? true {
            nextCheck = now + Self.checkInterval
            failure = nil
            rotationFailure = nil
            check()
            removeSurplus(now)
        }
        if let failure { throw failure }
        do {
            if file == nil { try open() }
            guard size > 0, size + count > limits.size, rotationFailure == nil else { return }
            guard rotated(now) else { return }
            try open()
        } catch {
            // Not retried for each flush: a missing directory costs one call a second.
            failure = error
            throw error
        }
    }

    /// Why the file could not be rotated; returned once per failure.
    package func takeWarning() -> FileError? {
        guard let rotationFailure, !isRotationFailureReported else { return nil }
        isRotationFailureReported = true
        return rotationFailure
    }

    /// Writes with one system call.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        // Unreachable: `prepare` opened the file or threw.
        guard file != nil else { return 0 }
        let written: Int
        do {
            written = try file?.write(bytes) ?? 0
        } catch {
            // Truncating the file to free space must be noticed at once.
            nextCheck = nil
            throw error
        }
        size += written
        return written
    }

    /// Closes the file; the next line opens the path again.
    package func reopen() {
        file = nil
        failure = nil
    }

    private func check() {
        guard file != nil else { return }
        do {
            let current = try FileStatus.of(path: path)
            if let status, current.isSameFile(as: status) {
                // After copytruncate, O_APPEND continues at the new end, but the rest of a line no
                // longer has its beginning.
                if current.size < size { generation += 1 }
                size = current.size
            } else {
                file = nil
            }
        } catch {
            // Moved or removed; if the path cannot be reached, opening it reports why.
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

    /// Whether the last line is incomplete: cut off by a full disk before the daemon ended.
    private func isCut() -> Bool {
        // If it cannot be read, the last line is taken to be complete.
        guard let reader = try? ReadableFile(path: path),
            let last = try? reader.read(1, at: size - 1).first
        else { return false }
        return last != UInt8(ascii: "\n")
    }

    /// Moves the file away, and returns whether that succeeded.
    private func rotated(_ now: ContinuousClock.Instant) -> Bool {
        do throws(FileError) {
            try rotate(now)
        } catch {
            rotationFailure = error
            return false
        }
        file = nil
        isRotationFailureReported = false
        return true
    }

    private func rotate(_ now: ContinuousClock.Instant) throws(FileError) {
        // Up to the first free number: an earlier attempt that failed may have left a gap.
        var free = 1
        while free < limits.keep + Self.surplusLimit, try exists(free) { free += 1 }
        for number in stride(from: free - 1, through: 1, by: -1) {
            if number >= limits.keep, hasStayed(number, now) {
                try FileSystem.unlink("\(path).\(number)")
            } else {
                try FileSystem.rename("\(path).\(number)", to: "\(path).\(number + 1)")
            }
        }
        try FileSystem.rename(path, to: "\(path).1")
        mayHaveSurplus = true
        setAside.removeAll { now - $0 >= Self.shortestStay }
        setAside.insert(now, at: 0)
    }

    /// Removes the files beyond `keep` that every reader has had time to open.
    private func removeSurplus(_ now: ContinuousClock.Instant) {
        guard mayHaveSurplus else { return }
        do throws(FileError) {
            var number = limits.keep + 1
            while try exists(number), number <= limits.keep + Self.surplusLimit {
                if hasStayed(number, now) { try FileSystem.unlink("\(path).\(number)") }
                number += 1
            }
            mayHaveSurplus = try exists(limits.keep + 1)
        } catch {
            // The next rotation fails as well, and is reported.
        }
    }

    private func exists(_ number: Int) throws(FileError) -> Bool {
        try FileSystem.status("\(path).\(number)") != nil
    }

    private func hasStayed(_ number: Int, _ now: ContinuousClock.Instant) -> Bool {
        number > setAside.count || now - setAside[number - 1] >= Self.shortestStay
    }
}
