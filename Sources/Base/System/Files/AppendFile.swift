import Glibc

/// A file that is written only at its end, and closed when the value is destroyed.
package struct AppendFile: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Opens the file, and creates it with mode 0640, regardless of the umask, if it is missing.
    ///
    /// A file that root creates gets the owner of its directory, like any other file of a service. A symbolic
    /// link is rejected, since a user with write access to the directory could point it at any file. A pipe
    /// without a reader is also rejected instead of blocking.
    package init(path: String) throws(FileError) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        let made = openFile(path, flags | O_EXCL, mode: 0o640)
        // An existing file keeps its mode.
        descriptor = made < 0 && errno == EEXIST ? openFile(path, flags, mode: 0o640) : made
        guard descriptor >= 0 else { throw FileError("open") }
        // This fails on a file system without modes, which is acceptable.
        if made >= 0 {
            _ = fchmod(made, 0o640)
            giveToDirectoryOwner(made, path)
        }
    }

    deinit {
        // There is no buffer, so a failed close loses nothing.
        _ = close(descriptor)
    }

    /// Writes the bytes that the kernel accepts immediately, and returns their number.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        try writeOnce(bytes, to: descriptor)
    }

    /// The file's identity and length.
    package var status: FileStatus {
        get throws(FileError) { try FileStatus(descriptor: descriptor) }
    }
}
