import Glibc

/// Ends a process if the system cannot start a thread for its first task.
///
/// Swift's default executor silently retries its first thread forever. A service would neither become ready
/// nor report the reason.
package enum ThreadCheck {
    /// The maximum time to start the first thread, in seconds; a busy machine may need some time.
    private static let patience: UInt32 = 5

    /// Ends the process with exit code 1 and a message on standard error, unless `end` is called in time.
    ///
    /// It uses SIGALRM, whose handler needs no thread.
    package static func begin() {
        signal(SIGALRM, threadMissing)
        alarm(patience)
    }

    /// Ends the check; called on the first thread.
    package static func end() {
        alarm(0)
        signal(SIGALRM, SIG_DFL)
    }

    /// Called in a signal handler: uses only functions listed in signal-safety(7).
    static func giveUp() {
        let words: StaticString = """
            netproxy: the system starts no thread; raise the limit of processes (TasksMax=, ulimit -u)

            """
        // SAFETY: a static string's bytes exist forever.
        _ = unsafe write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
        _exit(1)
    }
}
