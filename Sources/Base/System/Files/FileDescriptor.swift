import Glibc

/// An open file, closed when it goes out of scope.
///
/// Every call blocks and must not run on an event loop.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The mode in which a file is opened.
    ///
    /// Files always have close-on-exec, and only `stream` follows symbolic links.
    package enum Mode: Sendable {
        /// Opens an existing file for reading.
        case read
        /// Opens a file for reading; waits for a pipe, and follows symbolic links.
        case stream
        /// Creates a file for writing, which must not exist, readable by its owner only (0600) from the
        /// start.
        case createPrivate
        /// Opens a file for locking; creates it (0600) if it is missing, and leaves its content unchanged.
        case lock
        /// Opens a directory, to synchronize it.
        case directory
    }

    let number: Int32
    let path: String

    /// Opens a file.
    ///
    /// A file that root creates gets the owner of its directory. Root may sign in for a service that runs as
    /// another user, and the service must be able to read the result.
    package init(_ path: String, _ mode: Mode) throws(FileError) {
        number =
            switch mode {
            // A pipe without a writer would block.
            case .read: try Self.open(path, O_RDONLY | O_NONBLOCK)
            case .stream: try Self.open(path, O_RDONLY, links: 0)
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
        }
        do throws(FileError) {
            return try open(path, access | O_CREAT)
        } catch {
            // A file system that was remounted read-only after an error still locks.
            guard error.code == EROFS else { throw error }
            return try open(path, O_RDONLY)
        }
    }

    /// Creates a file, which must not exist: an existing file could belong to anyone.
    private static func make(_ path: String, _ access: Int32) throws(FileError) -> Int32 {
        let number = try open(path, access | O_CREAT | O_EXCL)
        giveToDirectoryOwner(number, path)
        return number
    }

    private static func open(
        _ path: String,
        _ flags: Int32,
        links: Int32 = O_NOFOLLOW
    ) throws(FileError) -> Int32 {
        let number = openFile(path, flags | links, mode: 0o600)
        guard number >= 0 else { throw FileError("open", path) }
        return number
    }

    deinit {
        // The content was already synchronized, so the result is irrelevant.
        _ = close(number)
    }

    /// The open file's identity and length.
    package func status() throws(FileError) -> FileStatus {
        try FileStatus(descriptor: number, path)
    }

    /// Reads the whole file; returns `nil` if it has more than `limit` bytes.
    package func readAll(upTo limit: Int) throws(FileError) -> [UInt8]? {
        let content = try read(upTo: limit + 1)
        return content.count > limit ? nil : content
    }

    /// Reads to the end, or slightly more than `limit` bytes of an endless file.
    package func read(upTo limit: Int) throws(FileError) -> [UInt8] {
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: min(limit, 64 * 1024))
        while true {
            // SAFETY: the array is valid during the call and passed with its own length.
            let count = unsafe Glibc.read(number, &piece, piece.count)
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("read", path)
            }
            content.append(contentsOf: piece[..<count])
            if content.count >= limit { return content }
        }
    }

    /// Writes all bytes, with as many calls as necessary.
    package func writeAll(_ bytes: [UInt8]) throws(FileError) {
        var written = 0
        while written < bytes.count {
            // SAFETY: the array is valid during the call, and `written` stays below its length.
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

    /// Returns once the content is on the medium.
    package func synchronize() throws(FileError) {
        while fsync(number) != 0 {
            if errno != EINTR { throw FileError("fsync", path) }
        }
    }

    /// Acquires the exclusive advisory lock if it is free; returns whether it succeeded.
    ///
    /// The lock belongs to the open file. Another open of the same file competes with it, even in this
    /// process. It ends with the process, so it never becomes stale.
    package func tryLock() throws(FileError) -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            if errno == EWOULDBLOCK { return false }
            throw FileError("flock", path)
        }
        return true
    }

    /// Releases the lock.
    package func unlock() throws(FileError) {
        guard flock(number, LOCK_UN) == 0 else { throw FileError("flock", path) }
    }
}

/// Opens a file with close-on-exec; returns -1 and sets `errno` if it cannot be opened.
func openFile(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
    while true {
        // SAFETY: the path is valid during the call.
        let number = unsafe open(path, flags | O_CLOEXEC, mode)
        if number >= 0 || errno != EINTR { return number }
    }
}

/// Assigns a file that root has created to the owner of its directory, if that is another user.
func giveToDirectoryOwner(_ number: Int32, _ path: String) {
    guard geteuid() == 0 else { return }
    let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    var owner = stat()
    // SAFETY: path and structure are valid during the call.
    guard unsafe stat(directory, &owner) == 0, owner.st_uid != 0 else { return }
    // This fails on a file system without owners, which is acceptable.
    _ = fchown(number, owner.st_uid, owner.st_gid)
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
