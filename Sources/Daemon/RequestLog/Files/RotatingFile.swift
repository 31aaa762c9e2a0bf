package import NetproxySystem

/// A log file with rotation by size, reopened if another tool moves or removes it.
package final class RotatingFile: LogDestination {
    /// The maximum size of a file, and the number of old files.
    package struct Limits: Sendable, Equatable {
        /// The maximum size in bytes, exceeded only by a single flush that is larger.
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

    /// The minimum time that a rotated file stays, regardless of `keep`.
    ///
    /// `netproxy tail -f` looks every 200 ms, and must find every file even if files are rotated quickly.
    private static let shortestStay = Duration.seconds(2)
    /// The maximum number of files beyond `keep` that stay for that reason; each rotation renames them all.
    private static let surplusLimit = 100

    /// The path of the current file.
    package let path: String
    private let limits: Limits
    private var file: AppendFile?
    private var status: FileStatus?
    private var size = 0
    private var nextCheck: ContinuousClock.Instant?
    private var failure: FileError?
    /// The times at which the files `.1`, `.2`, … were rotated, if recent.
    private var setAside: [ContinuousClock.Instant] = []
    /// Whether there may be more old files than `keep`.
    private var mayHaveSurplus = true
    /// The reason for a failed rotation.
    private var rotationFailure: FileError?
    private var isRotationFailureReported = false
    /// Incremented for each opened file, and after another tool truncated the file.
    package private(set) var generation = 0

    /// Creates a destination; the first line opens the file.
    package init(path: String, limits: Limits) {
        self.path = path
        self.limits = limits
    }

    /// Opens the file if none is open or the path has another one, and rotates it if `count` more bytes do
    /// not fit.
    ///
    /// If it cannot be rotated, for example because another user owns the directory, the file grows and
    /// `takeWarning` returns the reason.
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
            // Do not retry for each flush: a missing directory costs one call a second.
            failure = error
            throw error
        }
    }

    /// Returns the reason for a failed rotation, once per failure.
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
            // Truncating the file to free space must be noticed immediately.
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
                // After copytruncate, O_APPEND continues at the new end, but the beginning of a partly
                // written line is gone.
                if current.size < size { generation += 1 }
                size = current.size
            } else {
                file = nil
            }
        } catch {
            // The file was moved or removed. If the path is unreachable, opening it reports the reason.
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

    /// Whether the last line is incomplete, because a full disk cut it off before the daemon ended.
    private func isCut() -> Bool {
        // If the file is unreadable, assume that the last line is complete.
        guard let reader = try? ReadableFile(path: path),
            let last = try? reader.read(1, at: size - 1).first
        else { return false }
        return last != UInt8(ascii: "\n")
    }

    /// Rotates the file, and returns whether that succeeded.
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
        // Stop at the first free number: an earlier failed attempt may have left a gap.
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
            // The next rotation fails as well, and reports it.
        }
    }

    private func exists(_ number: Int) throws(FileError) -> Bool {
        try FileSystem.status("\(path).\(number)") != nil
    }

    private func hasStayed(_ number: Int, _ now: ContinuousClock.Instant) -> Bool {
        number > setAside.count || now - setAside[number - 1] >= Self.shortestStay
    }
}
