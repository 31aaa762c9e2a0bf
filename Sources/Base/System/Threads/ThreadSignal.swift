import CNetproxySystem
import Glibc

/// A signal on which a thread sleeps until another thread has work for it.
///
/// It uses one descriptor, and costs nothing until it is raised.
package final class ThreadSignal: Sendable {
    private let descriptor: Int32

    /// Creates a signal that is not raised.
    ///
    /// - Throws: `FileError` if the process has no descriptors left.
    package init() throws(FileError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw FileError("eventfd") }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Wakes the thread, or makes its next wait return immediately; never blocks.
    package func raise() {
        var one: UInt64 = 1
        // SAFETY: eight bytes on the stack. The counter would be full only after 2^64 - 2 calls.
        while unsafe write(descriptor, &one, 8) < 0, errno == EINTR {}
    }

    /// Blocks the calling thread until the signal is raised, and then resets it.
    package func wait() {
        var count: UInt64 = 0
        // SAFETY: eight bytes on the stack; the value does not matter.
        while unsafe read(descriptor, &count, 8) < 0, errno == EINTR {}
    }
}
