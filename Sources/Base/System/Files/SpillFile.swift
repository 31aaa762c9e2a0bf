import Glibc
package import NetproxyBytes

/// An unnamed file for bytes that do not fit into memory.
///
/// It disappears with its last reference, and with the process however it ends. Every call blocks and must
/// not run on an event loop.
package final class SpillFile: Sendable {
    private let descriptor: Int32
    private let directory: String

    /// Creates a file in a directory, accessible to its owner only (0600).
    ///
    /// - Parameter directory: an existing directory on the file system for the bytes.
    /// - Throws: `FileError`.
    package init(in directory: String) throws(FileError) {
        self.directory = directory
        let path = "\(directory)/.spill-\(getpid())-\(UInt32.random(in: .min ... .max))"
        // SAFETY: the path is valid during the call.
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
        // SAFETY: the path is valid during the call.
        guard unsafe unlink(path) == 0 else { throw FileError("unlink", path) }
    }

    deinit {
        // The file can no longer be read, so the result is irrelevant.
        _ = close(descriptor)
    }

    /// Writes all bytes at an offset.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to write.
    ///   - offset: the offset in bytes from the start.
    /// - Throws: `FileError`, also if the disk is full.
    package func write(_ bytes: ByteSlice, at offset: Int) throws(FileError) {
        var written = 0
        while written < bytes.count {
            // SAFETY: `written` stays below the slice's length, and the slice outlives the call.
            let count = unsafe pwrite(
                descriptor,
                bytes.unsafeAddress + written,
                bytes.count - written,
                offset + written
            )
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write", directory)
            }
            written += count
        }
    }

    /// Reads bytes that have been written.
    ///
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - offset: the offset in bytes from the start.
    /// - Returns: exactly `count` bytes.
    /// - Throws: `FileError`.
    package func read(_ count: Int, at offset: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            // SAFETY: the array has room for `count - filled` bytes after `filled`.
            let got = unsafe bytes.withUnsafeMutableBytes { room in
                unsafe pread(
                    descriptor,
                    room.baseAddress.map { unsafe $0 + filled },
                    count - filled,
                    offset + filled
                )
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw FileError("read", directory, code: got == 0 ? EIO : errno) }
            filled += got
        }
        return bytes
    }
}
