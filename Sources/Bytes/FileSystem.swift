#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What is done to files by name.
///
/// Every call blocks: none belongs on an event loop.
package enum FileSystem {
    /// What stands at a path, a symbolic link itself and not what it points to; nothing if nothing.
    package static func status(_ path: String) throws(FileError) -> FileDescriptor.Status? {
        var status = stat()
        // SAFETY: path and structure are lent for the call.
        guard unsafe lstat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw FileError("lstat", path)
        }
        return FileDescriptor.Status(status)
    }

    /// Moves a file in one step: whoever opens `target` sees the old or the new one, never half.
    package static func rename(_ source: String, to target: String) throws(FileError) {
        // SAFETY: the paths are lent for the call.
        guard unsafe Platform.rename(source, target) == 0 else { throw FileError("rename", target) }
    }

    /// Removes a file; one that is not there is removed already.
    package static func remove(_ path: String) throws(FileError) {
        // SAFETY: the path is lent for the call.
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw FileError("unlink", path) }
    }

    /// Makes a directory for its owner only (0700), unless it is there.
    package static func makePrivateDirectory(_ path: String) throws(FileError) {
        // SAFETY: the path is lent for the call.
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw FileError("mkdir", path)
        }
    }

    /// Makes a rename or a removal in a directory survive a power cut.
    package static func synchronizeDirectory(_ path: String) throws(FileError) {
        try FileDescriptor(path, .directory).synchronize()
    }
}

/// The C function whose name a method of `FileSystem` hides.
private enum Platform {
    static func rename(_ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>) -> Int32 {
        #if canImport(Glibc)
            unsafe Glibc.rename(source, target)
        #elseif canImport(Musl)
            unsafe Musl.rename(source, target)
        #else
            unsafe Darwin.rename(source, target)
        #endif
    }
}
