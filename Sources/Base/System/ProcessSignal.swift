import Glibc

/// The signals that a daemon handles.
package enum ProcessSignal: Int32, CaseIterable, Sendable {
    case terminate = 15
    case interrupt = 2
    case hangUp = 1
    case user1 = 10

    /// Ignores the signal until a handler is installed again.
    package func ignore() {
        Glibc.signal(rawValue, SIG_IGN)
    }

    /// Ignores the signals that must not end a daemon: those that it handles later, and those without a
    /// meaning here.
    ///
    /// SIGUSR2 means an upgrade to nginx, HAProxy and gunicorn, and service managers have uses for the
    /// others. Stops, quits and faults keep their effect.
    package static func ignoreNotices() {
        let unused = [SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXFSZ]
        for signal in [SIGHUP, SIGUSR1] + unused { Glibc.signal(signal, SIG_IGN) }
        for signal in __libc_current_sigrtmin()...__libc_current_sigrtmax() {
            Glibc.signal(signal, SIG_IGN)
        }
    }

    /// Makes a write to a closed connection fail instead of ending the process.
    package static func ignoreBrokenPipes() {
        Glibc.signal(SIGPIPE, SIG_IGN)
    }
}
