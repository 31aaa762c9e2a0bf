import Glibc

/// Ends a process for whose first task the system starts no thread.
///
/// Swift's default executor tries to start its first thread for ever, without a word: a service would
/// neither become ready nor say why.
package enum ThreadCheck {
    /// The maximum time to start the first thread, in seconds: a busy machine is not out of threads.
    private static let patience: UInt32 = 5

    /// Ends the process with exit code 1, after a message on standard error, unless `end` is called in
    /// time.
    ///
    /// It uses SIGALRM, whose handler needs no thread.
    package static func begin() {
        signal(SIGALRM, threadMissing)
        alarm(patience)
    }

    /// There is a thread: this is called on it.
    package static func end() {
        alarm(0)
        signal(SIGALRM, SIG_DFL)
    }

    /// Runs in a signal handler: only what signal-safety(7) lists is called.
    static func giveUp() {
        let words: StaticString = """
            netproxy: the system starts no thread; raise the limit of processes (TasksMax=, ulimit -u)

            """
        // SAFETY: a static string's bytes live for ever.
        _ = unsafe write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
        _exit(1)
    }
}
