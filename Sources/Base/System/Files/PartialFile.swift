import Glibc

/// A download in progress, renamed to its final name when it is complete, and closed when it is released.
///
/// Only one writer may use it at a time, in this process or another, since their bytes would mix.
package final class PartialFile: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Opens or creates the file, readable by its owner only, and truncates it to `count` bytes.
    ///
    /// - Throws: `FileError` with the operation `lock` if another writer uses the file, or with the operation
    ///   `resume` if the file is shorter than `count` bytes.
    package init(path: String, keeping count: Int = 0) throws(FileError) {
        self.path = path
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw FileError("open") }
        // A file system without locks, such as some network file systems, does not prevent a download.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw FileError("lock", code: EWOULDBLOCK)
        }
        // The owner of the lock may have renamed the file to its final name since it was opened.
        guard try FileStatus.of(path: path).isSameFile(as: FileStatus(descriptor: descriptor))
        else { throw FileError("lock", code: EWOULDBLOCK) }
        guard try FileStatus(descriptor: descriptor).size >= count else {
            throw FileError("resume", code: ENODATA)
        }
        guard ftruncate(descriptor, count) == 0 else {
            throw FileError("truncate")
        }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Writes all bytes at the end; blocks while the disk is busy.
    package func append(_ bytes: Span<UInt8>) throws(FileError) {
        // SAFETY: the span is borrowed for the calls, which only read it.
        let code: Int32? = unsafe bytes.withUnsafeBytes { source in
            var rest = unsafe source[...]
            while unsafe !rest.isEmpty {
                let piece = unsafe UnsafeRawBufferPointer(rebasing: rest)
                let count = unsafe Glibc.write(descriptor, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                unsafe rest = rest.dropFirst(count)
            }
            return nil
        }
        if let code { throw FileError("write", code: code) }
    }

    /// Flushes the file and renames it to its final name, replacing an existing file.
    package func finish(as name: String) throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError("flush") }
        try FileSystem.rename(path, to: name)
    }
}
