import Glibc

/// A failed system call on a file: which one, and why.
package struct AppendFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call, such as `open`.
    package let call: String
    /// The value of `errno`.
    package let code: Int32

    /// Records a failure.
    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Whether there is no such file.
    package var isMissing: Bool { code == ENOENT }
    /// Whether nobody reads at the other end of the pipe any more.
    package var isReaderGone: Bool { code == EPIPE }

    /// Whether somebody else writes the file.
    package var isLocked: Bool { call == "lock" }

    /// The call and the system's words for the reason.
    package var description: String {
        // SAFETY: strerror returns a terminated text that is copied on this line.
        let reason = unsafe String(cString: strerror(code))
        return "\(call): \(reason)"
    }
}

/// What tells one file from another, and how long it is.
package struct FileStatus: Sendable, Equatable {
    /// The device it lies on.
    package let device: UInt64
    /// Its number there.
    package let inode: UInt64
    /// Its length, in bytes.
    package let size: Int
    /// Whether it holds content of that length, and is no pipe, device, directory or link.
    package let isRegular: Bool
    /// When its content changed last, since 1970.
    package let modified: Duration

    /// Whether both are the same file, however long.
    package func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device
    }

    /// Whether nothing was written to the file since, as far as its times tell.
    package func isUnchanged(since earlier: FileStatus) -> Bool {
        size == earlier.size && modified == earlier.modified
    }

    /// What stands under a path; a symbolic link is followed.
    package static func of(path: String) throws(AppendFileError) -> FileStatus {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else {
            throw AppendFileError(call: "stat", code: errno)
        }
        return FileStatus(information)
    }

    /// What a path names itself, which may be a symbolic link.
    package static func ofEntry(at path: String) throws(AppendFileError) -> FileStatus {
        var information = stat()
        guard unsafe lstat(path, &information) == 0 else {
            throw AppendFileError(call: "lstat", code: errno)
        }
        return FileStatus(information)
    }

    init(descriptor: Int32) throws(AppendFileError) {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else {
            throw AppendFileError(call: "fstat", code: errno)
        }
        self.init(information)
    }

    private init(_ information: stat) {
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
        size = Int(information.st_size)
        isRegular = information.st_mode & S_IFMT == S_IFREG
        modified =
            .seconds(information.st_mtim.tv_sec) + .nanoseconds(information.st_mtim.tv_nsec)
    }
}

/// A file that is only ever written at its end; closed when the value goes away.
package struct AppendFile: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Opens the file, and makes it with mode 0640 (less the umask) if there is none.
    ///
    /// A symbolic link is refused: whoever may write to the directory could aim it at any file. A
    /// pipe without a reader is refused too, instead of blocking.
    package init(path: String) throws(AppendFileError) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        descriptor = unsafe open(path, flags, 0o640)
        guard descriptor >= 0 else { throw AppendFileError(call: "open", code: errno) }
    }

    deinit {
        // Nothing was buffered here, so a failed close loses nothing.
        _ = close(descriptor)
    }

    /// Writes what the kernel takes at once, and returns how many bytes that were.
    package func write(_ bytes: Span<UInt8>) throws(AppendFileError) -> Int {
        try writeOnce(bytes, to: descriptor)
    }

    /// Which file it is, and how long.
    package var status: FileStatus {
        get throws(AppendFileError) { try FileStatus(descriptor: descriptor) }
    }

    /// Gives a file another name, in place of a file that has it.
    package static func rename(_ old: String, to new: String) throws(AppendFileError) {
        guard unsafe Glibc.rename(old, new) == 0 else {
            throw AppendFileError(call: "rename", code: errno)
        }
    }

    /// Removes a file.
    package static func remove(_ path: String) throws(AppendFileError) {
        guard unsafe unlink(path) == 0 else {
            throw AppendFileError(call: "unlink", code: errno)
        }
    }
}

/// The standard output of the process, written without ever waiting for its reader.
package enum StandardOutput {
    private static let stream = StandardStream.output.withoutWaiting

    /// Writes what can be written without waiting, and returns how many bytes that were.
    ///
    /// - Throws: `EAGAIN` if the reader is so far behind that nothing can be written.
    package static func write(_ bytes: Span<UInt8>) throws(AppendFileError) -> Int {
        try stream.writePiece(bytes, patience: .zero)
    }
}

func writeOnce(_ bytes: Span<UInt8>, to descriptor: Int32) throws(AppendFileError) -> Int {
    // SAFETY: the span is borrowed for the call, which only reads it.
    let (count, code) = unsafe bytes.withUnsafeBytes { source in
        while true {
            let count = unsafe Glibc.write(descriptor, source.baseAddress, source.count)
            let code = errno
            if count >= 0 || code != EINTR { return (count, code) }
        }
    }
    guard count >= 0 else { throw AppendFileError(call: "write", code: code) }
    return count
}
