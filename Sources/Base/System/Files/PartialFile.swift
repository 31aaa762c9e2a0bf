import Glibc

/// A download in progress, which gets its final name when it is complete; closed when it goes away.
///
/// One writer at a time, in this process or another: their bytes would mix.
package final class PartialFile: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Opens or creates the file, readable by its owner only, and truncates it to `count` bytes.
    ///
    /// - Throws: `FileError` of the operation `lock` while another writer has the file, and of the
    ///   operation `resume` if the file is shorter than that.
    package init(path: String, keeping count: Int = 0) throws(FileError) {
        self.path = path
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw FileError("open") }
        // A file system without locks (some network ones) does not prevent a download.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw FileError("lock", code: EWOULDBLOCK)
        }
        // The holder of the lock may have given the file its final name since it was opened.
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

    /// Writes all bytes at the end; blocks while the disk does.
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

    /// Flushes the file and gives it its final name, replacing a file of that name.
    package func finish(as name: String) throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError("flush") }
        try FileSystem.rename(path, to: name)
    }
}
