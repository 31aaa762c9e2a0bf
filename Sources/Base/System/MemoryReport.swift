import Glibc

/// Names a lack of memory as the cause of a crash.
///
/// If an allocation fails, Swift and C++ end the process with one of these signals, without a message.
package enum MemoryReport {
    private static let signals = [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP]
    /// The size of the test allocation, in bytes.
    private static let probe = 8 << 20

    /// Reports the cause on standard error before the process ends.
    package static func begin() {
        for signal in signals { Glibc.signal(signal, crashed) }
    }

    /// Called in a signal handler: uses only functions listed in signal-safety(7), and mmap(2), which is a
    /// system call.
    static func explain(_ signal: Int32) {
        // The fault occurs again, with its usual effect.
        Glibc.signal(signal, SIG_DFL)
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        let memory = unsafe mmap(nil, probe, PROT_READ | PROT_WRITE, flags, -1, 0)
        guard unsafe memory == MAP_FAILED else { return }
        let words: StaticString = """
            netproxy: out of memory; raise the limit (MemoryMax=, ulimit -v)

            """
        // SAFETY: a static string's bytes exist forever.
        _ = unsafe write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
    }
}
