import Glibc

/// A file operation that the system refused: what was tried, on which file, and why.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system call, in its own name.
    package let operation: String
    /// The file it was tried on; nothing where whoever reports it names the file.
    package let path: String?
    /// The number the system gave (`errno`).
    package let code: Int32

    /// Records a failure; without `code` it is read from `errno`, so call it on the next line.
    package init(_ operation: String, _ path: String? = nil, code: Int32 = errno) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// Whether there is no such file.
    package var isMissing: Bool { code == ENOENT }
    /// Whether a symbolic link stood where a file was expected (`O_NOFOLLOW`).
    package var isSymbolicLink: Bool { code == ELOOP }
    /// Whether the file is there, and not for this process.
    package var isForbidden: Bool { code == EACCES || code == EPERM }
    /// Whether this process, or the system, lacks what another moment may have: descriptors or memory.
    package var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
    /// Whether the medium does not give back what was written, or a checksum of it is wrong.
    package var isDamage: Bool { code == EIO || code == EBADMSG || code == EUCLEAN }
    /// Whether nobody reads at the other end of the pipe any more.
    package var isReaderGone: Bool { code == EPIPE }
    /// Whether somebody else writes the file.
    package var isLocked: Bool { operation == "lock" }

    /// The operation, the file and the system's own words.
    package var description: String {
        "\(path.map { "\(operation) \($0)" } ?? operation): \(reason)"
    }

    /// The system's own words.
    package var reason: String {
        // SAFETY: glibc ≥ 2.32 keeps the text per thread, and it is copied on this line.
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
