import Glibc

/// A failed file operation: the operation, the file, and the reason.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the system call.
    package let operation: String
    /// The path of the file; `nil` if the caller names the file in its message.
    package let path: String?
    /// The error number (`errno`).
    package let code: Int32

    /// Records a failure; without `code`, it must be created on the line after the system call, to read
    /// `errno`.
    package init(_ operation: String, _ path: String? = nil, code: Int32 = errno) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// Whether the file does not exist.
    package var isMissing: Bool { code == ENOENT }
    /// Whether the file to be created already exists.
    package var isTaken: Bool { code == EEXIST }
    /// Whether the path is a symbolic link (`O_NOFOLLOW`).
    package var isSymbolicLink: Bool { code == ELOOP }
    /// Whether this process lacks permission to use the file.
    package var isForbidden: Bool { code == EACCES || code == EPERM }
    /// Whether the process or the system has no descriptors or memory left, which may be temporary.
    package var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
    /// Whether the medium cannot return the written data, or a checksum is wrong.
    package var isDamage: Bool { code == EIO || code == EBADMSG || code == EUCLEAN }
    /// Whether the reader of the pipe has closed it.
    package var isReaderGone: Bool { code == EPIPE }
    /// Whether another process, or another part of this one, is writing the file.
    package var isLocked: Bool { operation == "lock" }

    /// The operation, the file, and the system's message for the error.
    package var description: String {
        "\(path.map { "\(operation) \($0)" } ?? operation): \(reason)"
    }

    /// The system's message for the error.
    package var reason: String {
        // SAFETY: glibc ≥ 2.32 keeps the text per thread, and this line copies it.
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
