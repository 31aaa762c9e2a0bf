import Glibc

/// The signals that a daemon listens to.
package enum ProcessSignal: Int32, CaseIterable, Sendable {
    case terminate = 15
    case interrupt = 2
    case hangUp = 1
    case user1 = 10

    /// Ignores the signal until something listens to it again.
    package func ignore() {
        Glibc.signal(rawValue, SIG_IGN)
    }

    /// Ignores the signals that should not end a daemon, until it listens to them.
    package static func ignoreNotices() {
        hangUp.ignore()
        user1.ignore()
    }

    /// Makes a write to a closed connection an error of that write, not the end of the process.
    package static func ignoreBrokenPipes() {
        Glibc.signal(SIGPIPE, SIG_IGN)
    }
}
