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

    /// Ignores the signals that must not end a daemon, until it handles them.
    package static func ignoreNotices() {
        hangUp.ignore()
        user1.ignore()
    }

    /// Makes a write to a closed connection fail instead of ending the process.
    package static func ignoreBrokenPipes() {
        Glibc.signal(SIGPIPE, SIG_IGN)
    }
}
