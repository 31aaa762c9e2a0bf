import Glibc

/// An open file, closed when it goes out of scope.
///
/// Every call blocks: none belongs on an event loop.
package struct FileDescriptor: ~Copyable, Sendable {
    /// How a file is opened.
    ///
    /// Close-on-exec and "never follow a symbolic link" go without saying.
    package enum Mode: Sendable {
        /// For reading; the file must be there.
        case read
        /// For writing, and it must not be there yet; owner only (0600) from its first moment.
        case createPrivate
        /// For locking: made (0600) where it is missing, its content left alone.
        case lock
        /// A directory, so that it can be synchronised.
        case directory
    }

    /// What identifies a file and the state of its content.
    package struct Status: Hashable, Sendable {
        /// The file's number on its device.
        package let inode: UInt64
        /// When the content changed last, in nanoseconds since 1970.
        package let modified: Int64
        /// The permission bits.
        package let permissions: UInt32
        /// Whether it is an ordinary file: not a directory, device, pipe or link.
        package let isRegular: Bool

        init(_ status: stat) {
            inode = UInt64(status.st_ino)
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            permissions = UInt32(status.st_mode & 0o7777)
            isRegular = status.st_mode & S_IFMT == S_IFREG
        }
    }

    let number: Int32
    let path: String

    /// Opens a file.
    package init(_ path: String, _ mode: Mode) throws(FileError) {
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .createPrivate: O_WRONLY | O_CREAT | O_EXCL
            case .lock: O_RDWR | O_CREAT
            case .directory: O_RDONLY | O_DIRECTORY
            }
        var result: Int32
        // SAFETY: the path is lent for the call.
        repeat {
            unsafe result = open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        } while result < 0 && errno == EINTR
        guard result >= 0 else { throw FileError("open", path) }
        number = result
        self.path = path
    }

    deinit {
        // What was written is on disk already (`synchronize`), so the result says nothing more.
        _ = close(number)
    }

    /// What the open file is.
    package func status() throws(FileError) -> Status {
        var status = stat()
        // SAFETY: the structure is lent for the call.
        guard unsafe fstat(number, &status) == 0 else { throw FileError("fstat", path) }
        return Status(status)
    }

    /// Reads everything, or nothing if there is more than `limit` bytes.
    package func readAll(upTo limit: Int) throws(FileError) -> [UInt8]? {
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: min(limit + 1, 64 * 1024))
        while true {
            // SAFETY: the array is lent for the call with its own length.
            let count = unsafe read(number, &piece, piece.count)
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("read", path)
            }
            content.append(contentsOf: piece[..<count])
            if content.count > limit { return nil }
        }
    }

    /// Writes all bytes, however many calls it takes.
    package func writeAll(_ bytes: [UInt8]) throws(FileError) {
        var written = 0
        while written < bytes.count {
            // SAFETY: the array is lent for the call, and `written` stays below its length.
            let count = unsafe bytes.withUnsafeBytes { source in
                unsafe write(
                    number,
                    source.baseAddress.map { unsafe $0 + written },
                    source.count - written
                )
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write", path)
            }
            written += count
        }
    }

    /// Returns when the content is on the medium.
    package func synchronize() throws(FileError) {
        guard fsync(number) == 0 else { throw FileError("fsync", path) }
    }

    /// Takes the exclusive advisory lock if nobody has it; returns whether it did.
    ///
    /// The lock belongs to the open file: another open of the same file competes with it, in this
    /// process too, and it ends with the process (no lease that a slow holder outlives).
    package func tryLock() throws(FileError) -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            if errno == EWOULDBLOCK { return false }
            throw FileError("flock", path)
        }
        return true
    }

    /// Gives the lock back.
    package func unlock() throws(FileError) {
        guard flock(number, LOCK_UN) == 0 else { throw FileError("flock", path) }
    }
}
