import CNetproxySystem
import Glibc

/// A signal on which a thread sleeps until another thread has work for it.
///
/// It costs one descriptor, and nothing while no one raises it.
package final class ThreadSignal: Sendable {
    private let descriptor: Int32

    /// Makes a signal that is not raised.
    ///
    /// - Throws: `FileError` when the process has no descriptors left.
    package init() throws(FileError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw FileError("eventfd") }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Wakes the thread, or lets its next wait return at once; never blocks.
    package func raise() {
        var one: UInt64 = 1
        // SAFETY: eight bytes on the stack. The counter would be full only after 2^64 - 2 calls.
        while unsafe write(descriptor, &one, 8) < 0, errno == EINTR {}
    }

    /// Blocks the calling thread until the signal is raised, and lowers it again.
    package func wait() {
        var count: UInt64 = 0
        // SAFETY: eight bytes on the stack; the value does not matter.
        while unsafe read(descriptor, &count, 8) < 0, errno == EINTR {}
    }
}
