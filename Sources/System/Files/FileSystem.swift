import Glibc

/// What is done to files by name.
///
/// Every call blocks: none belongs on an event loop.
package enum FileSystem {
    /// What stands at a path, a symbolic link itself and not what it points to; nothing if nothing.
    package static func status(_ path: String) throws(FileError) -> FileStatus? {
        do throws(FileError) {
            return try FileStatus.ofEntry(at: path)
        } catch {
            guard error.isMissing else { throw FileError("lstat", path, code: error.code) }
            return nil
        }
    }

    /// Moves a file in one step: whoever opens `target` sees the old or the new one, never half.
    package static func rename(_ source: String, to target: String) throws(FileError) {
        // SAFETY: the paths are lent for the call.
        guard unsafe Glibc.rename(source, target) == 0 else { throw FileError("rename", target) }
    }

    /// Removes a file; one that is not there is removed already.
    package static func remove(_ path: String) throws(FileError) {
        do throws(FileError) {
            try unlink(path)
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Removes a file that is there.
    package static func unlink(_ path: String) throws(FileError) {
        // SAFETY: the path is lent for the call.
        guard unsafe Glibc.unlink(path) == 0 else { throw FileError("unlink", path) }
    }

    /// Makes a directory, and those above it, unless it is there.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - mode: the permission bits, less the umask.
    /// - Throws: `FileError`.
    package static func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        // SAFETY: the path is lent for the call.
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw FileError("mkdir", path)
        }
        try makeDirectory(String(path[..<slash]), mode: mode)
        // SAFETY: the path is lent for the call.
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw FileError("mkdir", path)
        }
    }

    /// Makes a rename or a removal in a directory survive a power cut, where the file system knows
    /// that of directories: some that are mounted over a network or from user space refuse it.
    package static func synchronizeDirectory(_ path: String) throws(FileError) {
        do throws(FileError) {
            try FileDescriptor(path, .directory).synchronize()
        } catch {
            // As PostgreSQL has it (fsync_fname_ext).
            guard error.operation == "fsync", error.code == EINVAL || error.code == EBADF else {
                throw error
            }
        }
    }

    /// The names in a directory, without `.` and `..`, in the order of the file system.
    ///
    /// - Throws: `FileError`, also where only a part of them can be read.
    package static func names(in path: String) throws(FileError) -> [String] {
        // SAFETY: the path is lent for the call.
        guard let directory = unsafe opendir(path) else { throw FileError("open", path) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while true {
            // The end and an error look alike but for this.
            unsafe __errno_location().pointee = 0
            // SAFETY: the stream is open and this call's alone.
            guard let entry = unsafe readdir(directory) else {
                guard errno == 0 else { throw FileError("read", path) }
                return names
            }
            let name = unsafe nameOf(entry)
            if name != ".", name != ".." { names.append(name) }
        }
    }

    private static func nameOf(_ entry: UnsafeMutablePointer<dirent>) -> String {
        // SAFETY: a name ends with NUL, and belongs to the stream until its next entry is asked for.
        unsafe withUnsafePointer(to: &entry.pointee.d_name) {
            unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
    }
}
