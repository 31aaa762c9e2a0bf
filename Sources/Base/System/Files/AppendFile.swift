import Glibc

/// A file that is only ever written at its end; closed when the value goes away.
package struct AppendFile: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Opens the file, and creates it with mode 0640 if it is missing, whatever the umask.
    ///
    /// One that root creates gets the owner of its directory, like any other file of a service.
    ///
    /// A symbolic link is refused: a user who may write to the directory could aim it at any file.
    /// A pipe without a reader is refused too, instead of blocking.
    package init(path: String) throws(FileError) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
        let made = openFile(path, flags | O_EXCL, mode: 0o640)
        // A file that exists keeps its mode.
        descriptor = made < 0 && errno == EEXIST ? openFile(path, flags, mode: 0o640) : made
        guard descriptor >= 0 else { throw FileError("open") }
        // Fails on a file system without modes, which does not matter.
        if made >= 0 {
            _ = fchmod(made, 0o640)
            giveToDirectoryOwner(made, path)
        }
    }

    deinit {
        // Nothing was buffered here, so a failed close loses nothing.
        _ = close(descriptor)
    }

    /// Writes the bytes that the kernel accepts at once, and returns their number.
    package func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        try writeOnce(bytes, to: descriptor)
    }

    /// The file's identity and length.
    package var status: FileStatus {
        get throws(FileError) { try FileStatus(descriptor: descriptor) }
    }
}
