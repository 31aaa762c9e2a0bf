/// An exclusive advisory lock on a file that exists for nothing else.
///
/// Held until `release()`, at the latest until the last reference is gone or the process ends.
package final class FileLock: Sendable {
    private let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Takes the lock, or returns nothing if somebody else holds it.
    ///
    /// Never waits.
    package static func attempt(_ path: String) throws(FileError) -> FileLock? {
        let descriptor = try FileDescriptor(path, .lock)
        guard try descriptor.tryLock() else { return nil }
        // Somebody may have removed the file since it was opened: then this locks a file that
        // nobody else will ever open.
        guard try FileSystem.status(path)?.inode == descriptor.status().inode else { return nil }
        return FileLock(descriptor)
    }

    /// Gives the lock back; harmless when repeated.
    package func release() throws(FileError) {
        try descriptor.unlock()
    }
}
