import Glibc

/// A failed file operation, in the system's words.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system's error number.
    package let code: Int32
    /// What was done and what the system said.
    package let description: String

    init(_ operation: String, code: Int32 = errno) {
        self.code = code
        let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        description = "cannot \(operation): \(reason)"
    }
}

/// Small files that are there as a whole or not at all.
///
/// Symbolic links are not followed.
package enum DurableFile {
    /// The bytes of a file; nothing if there is none.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileError("open")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            // SAFETY: the chunk holds as many bytes as read is told of.
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("read")
            }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { throw FileError("read all of it", code: EFBIG) }
        }
    }

    /// Puts new content in the place of a file: written aside, flushed, renamed, and the directory
    /// flushed, so that after a crash either the old or the new content is there.
    package static func replace(
        _ path: String,
        with bytes: [UInt8],
        mode: UInt32
    ) throws(FileError) {
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max)).tmp"
        let descriptor = unsafe open(
            temporary,
            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
            mode
        )
        guard descriptor >= 0 else { throw FileError("create") }
        do throws(FileError) {
            defer { close(descriptor) }
            try write(bytes, to: descriptor)
            guard fsync(descriptor) == 0 else { throw FileError("flush") }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        guard unsafe Glibc.rename(temporary, path) == 0 else {
            let error = FileError("rename")
            _ = unsafe unlink(temporary)
            throw error
        }
        try flushDirectory(of: path)
    }

    /// Renames a file.
    package static func rename(_ path: String, to target: String) throws(FileError) {
        guard unsafe Glibc.rename(path, target) == 0 else { throw FileError("rename") }
    }

    /// Removes a file; one that is not there is no error.
    package static func remove(_ path: String) throws(FileError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw FileError("remove") }
        try flushDirectory(of: path)
    }

    /// Makes a directory for its owner only, and those above it.
    package static func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw FileError("make the directory")
        }
        try makeDirectory(String(path[..<slash]), mode: mode)
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw FileError("make the directory")
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest)
            // SAFETY: the piece holds as many bytes as write is told of.
            let count = unsafe Glibc.write(descriptor, piece, piece.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write")
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func flushDirectory(of path: String) throws(FileError) {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(
            directory.isEmpty ? "/" : directory,
            O_RDONLY | O_DIRECTORY | O_CLOEXEC
        )
        guard descriptor >= 0 else { throw FileError("open the directory") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileError("flush the directory") }
    }
}

/// An advisory lock that other processes respect; it ends with the process that holds it.
package final class FileLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Takes the lock, or returns nothing if somebody else holds it.
    package static func tryLock(_ path: String) throws(FileError) -> FileLock? {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError("open the lock") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw FileError("lock", code: code)
        }
        return FileLock(descriptor)
    }
}
