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

    let number: Int32
    let path: String

    /// Opens a file.
    ///
    /// One that root makes belongs to whom its directory belongs: root may sign in beside a service
    /// that runs as somebody else, and that must be able to read what came of it.
    package init(_ path: String, _ mode: Mode) throws(FileError) {
        number =
            switch mode {
            // A pipe without a writer would keep whoever opens it.
            case .read: try Self.open(path, O_RDONLY | O_NONBLOCK)
            case .directory: try Self.open(path, O_RDONLY | O_DIRECTORY)
            case .createPrivate: try Self.make(path, O_WRONLY)
            case .lock: try Self.makeOrOpen(path, O_RDWR)
            }
        self.path = path
    }

    private static func makeOrOpen(_ path: String, _ access: Int32) throws(FileError) -> Int32 {
        do throws(FileError) {
            return try make(path, access)
        } catch {
            guard error.code == EEXIST else { throw error }
            return try open(path, access | O_CREAT)
        }
    }

    /// Makes a file that must not be there yet: what is there already may be anybody's.
    private static func make(_ path: String, _ access: Int32) throws(FileError) -> Int32 {
        let number = try open(path, access | O_CREAT | O_EXCL)
        guard geteuid() == 0 else { return number }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var owner = stat()
        // SAFETY: path and structure are lent for the call.
        guard unsafe stat(directory, &owner) == 0, owner.st_uid != 0
        else { return number }
        // A file system without owners refuses, and needs none.
        _ = fchown(number, owner.st_uid, owner.st_gid)
        return number
    }

    private static func open(_ path: String, _ flags: Int32) throws(FileError) -> Int32 {
        let number = openFile(path, flags | O_NOFOLLOW, mode: 0o600)
        guard number >= 0 else { throw FileError("open", path) }
        return number
    }

    deinit {
        // What was written is on disk already (`synchronize`), so the result says nothing more.
        _ = close(number)
    }

    /// What the open file is.
    package func status() throws(FileError) -> FileStatus {
        try FileStatus(descriptor: number, path)
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
        while fsync(number) != 0 {
            if errno != EINTR { throw FileError("fsync", path) }
        }
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

/// Opens a file, closed on exec; -1, with the reason in `errno`, if it cannot be opened.
func openFile(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
    while true {
        // SAFETY: the path is lent for the call.
        let number = unsafe open(path, flags | O_CLOEXEC, mode)
        if number >= 0 || errno != EINTR { return number }
    }
}

func writeOnce(_ bytes: Span<UInt8>, to descriptor: Int32) throws(FileError) -> Int {
    // SAFETY: the span is borrowed for the call, which only reads it.
    let (count, code) = unsafe bytes.withUnsafeBytes { source in
        while true {
            let count = unsafe Glibc.write(descriptor, source.baseAddress, source.count)
            let code = errno
            if count >= 0 || code != EINTR { return (count, code) }
        }
    }
    guard count >= 0 else { throw FileError("write", code: code) }
    return count
}
