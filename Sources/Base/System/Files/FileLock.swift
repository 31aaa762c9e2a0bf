/// An exclusive advisory lock on a file that exists only for the lock.
///
/// The lock lasts until `release()`, and at most until the last reference is released or the process ends.
package final class FileLock: Sendable {
    private let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Acquires the lock without waiting; returns `nil` if another owner has it.
    package static func attempt(_ path: String) throws(FileError) -> FileLock? {
        let descriptor = try FileDescriptor(path, .lock)
        guard try descriptor.tryLock() else { return nil }
        // The file may have been removed since it was opened. The lock would then be on a file that nobody
        // else can open.
        guard try FileSystem.status(path)?.inode == descriptor.status().inode else { return nil }
        return FileLock(descriptor)
    }

    /// Releases the lock; repeated calls are harmless.
    package func release() throws(FileError) {
        try descriptor.unlock()
    }
}
