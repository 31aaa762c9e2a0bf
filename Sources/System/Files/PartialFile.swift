import Glibc

/// A file that grows while it is fetched, and gets its name when it is complete; closed when it goes
/// away.
///
/// One writer at a time, in this process or another: the second one's bytes would stand between the
/// first one's.
package final class PartialFile: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Opens or makes the file, readable for its owner only, and cuts it after `count` bytes.
    ///
    /// - Throws: `FileError` of the call `lock` while somebody else writes the file, and of the
    ///   call `resume` when the file is shorter than that.
    package init(path: String, keeping count: Int = 0) throws(FileError) {
        self.path = path
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw FileError("open") }
        // A file system without locks (some network ones) keeps nobody from a download.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw FileError("lock", code: EWOULDBLOCK)
        }
        // Who held the lock may have given the file its name since it was opened.
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

    /// Writes all of the bytes at the end; blocks while the disk does.
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

    /// Flushes the file and gives it its name, in place of a file that has it.
    package func finish(as name: String) throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError("flush") }
        try FileSystem.rename(path, to: name)
    }
}
