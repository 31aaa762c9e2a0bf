/// An exclusive advisory lock on a file that exists only for it.
///
/// Held until `release()`, and at most until the last reference is gone or the process ends.
package final class FileLock: Sendable {
    private let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Takes the lock, or returns `nil` if it is held elsewhere; never waits.
    package static func attempt(_ path: String) throws(FileError) -> FileLock? {
        let descriptor = try FileDescriptor(path, .lock)
        guard try descriptor.tryLock() else { return nil }
        // The file may have been removed since it was opened: then this is a lock on a file that no
        // one else will ever open.
        guard try FileSystem.status(path)?.inode == descriptor.status().inode else { return nil }
        return FileLock(descriptor)
    }

    /// Releases the lock; harmless when repeated.
    package func release() throws(FileError) {
        try descriptor.unlock()
    }
}
