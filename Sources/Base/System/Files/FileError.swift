import Glibc

/// A file operation that the system refused: the operation, the file, and the reason.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the system call.
    package let operation: String
    /// The file it was tried on; `nil` where the caller names the file in its message.
    package let path: String?
    /// The error number (`errno`).
    package let code: Int32

    /// Records a failure; without `code` it is read from `errno`, so call it on the next line.
    package init(_ operation: String, _ path: String? = nil, code: Int32 = errno) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// Whether the file does not exist.
    package var isMissing: Bool { code == ENOENT }
    /// Whether there is a file where one was to be created.
    package var isTaken: Bool { code == EEXIST }
    /// Whether the path is a symbolic link (`O_NOFOLLOW`).
    package var isSymbolicLink: Bool { code == ELOOP }
    /// Whether this process is not allowed to use the file.
    package var isForbidden: Bool { code == EACCES || code == EPERM }
    /// Whether the process or the system is out of descriptors or memory, which may pass.
    package var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
    /// Whether the medium cannot return the written data, or a checksum is wrong.
    package var isDamage: Bool { code == EIO || code == EBADMSG || code == EUCLEAN }
    /// Whether the reader of the pipe has gone.
    package var isReaderGone: Bool { code == EPIPE }
    /// Whether another process, or another part of this one, is writing the file.
    package var isLocked: Bool { operation == "lock" }

    /// The operation, the file and the system's text for the error.
    package var description: String {
        "\(path.map { "\(operation) \($0)" } ?? operation): \(reason)"
    }

    /// The system's text for the error.
    package var reason: String {
        // SAFETY: glibc ≥ 2.32 keeps the text per thread, and it is copied on this line.
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
