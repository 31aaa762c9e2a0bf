import Glibc

/// Whether a person reads along.
enum Terminal {
    /// Whether standard output is a terminal.
    static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }
}
