import Glibc

/// Operations on files by name.
///
/// Every call blocks and must not run on an event loop.
package enum FileSystem {
    /// Returns the status of the entry at a path, which may be a symbolic link; `nil` if it is missing.
    package static func status(_ path: String) throws(FileError) -> FileStatus? {
        do throws(FileError) {
            return try FileStatus.ofEntry(at: path)
        } catch {
            guard error.isMissing else { throw FileError("lstat", path, code: error.code) }
            return nil
        }
    }

    /// Returns the absolute path of a file without symbolic links; `nil` if there is none.
    package static func resolved(_ path: String) -> String? {
        // SAFETY: the path is valid during the call, and the result is copied and then freed.
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Moves a file atomically: `target` is always either the old or the new file.
    package static func rename(_ source: String, to target: String) throws(FileError) {
        // SAFETY: the paths are valid during the call.
        guard unsafe Glibc.rename(source, target) == 0 else { throw FileError("rename", target) }
    }

    /// Gives a file a second name, which must not exist.
    package static func link(_ path: String, as name: String) throws(FileError) {
        // SAFETY: the paths are valid during the call.
        guard unsafe Glibc.link(path, name) == 0 else { throw FileError("link", name) }
    }

    /// Removes a file, unless it is missing.
    package static func remove(_ path: String) throws(FileError) {
        do throws(FileError) {
            try unlink(path)
        } catch {
            guard error.isMissing else { throw error }
        }
    }

    /// Removes a file, which must exist.
    package static func unlink(_ path: String) throws(FileError) {
        // SAFETY: the path is valid during the call.
        guard unsafe Glibc.unlink(path) == 0 else { throw FileError("unlink", path) }
    }

    /// Removes a directory, which must be empty.
    package static func removeDirectory(_ path: String) throws(FileError) {
        // SAFETY: the path is valid during the call.
        guard unsafe rmdir(path) == 0 else { throw FileError("rmdir", path) }
    }

    /// Creates a directory and its parents, unless they exist.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - mode: the permission bits, reduced by the umask.
    /// - Throws: `FileError`.
    package static func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        // SAFETY: the path is valid during the call.
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw FileError("mkdir", path)
        }
        try makeDirectory(String(path[..<slash]), mode: mode)
        // SAFETY: the path is valid during the call.
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw FileError("mkdir", path)
        }
    }

    /// Makes a rename or a removal in a directory survive a power failure.
    ///
    /// Some network and user-space file systems cannot synchronize directories; their error is ignored.
    package static func synchronizeDirectory(_ path: String) throws(FileError) {
        do throws(FileError) {
            try FileDescriptor(path, .directory).synchronize()
        } catch {
            // The same exceptions as in PostgreSQL (fsync_fname_ext).
            guard error.operation == "fsync", error.code == EINVAL || error.code == EBADF else {
                throw error
            }
        }
    }

    /// Returns the names in a directory, without `.` and `..`, in the order of the file system.
    ///
    /// - Throws: `FileError`, also if only some of them can be read.
    package static func names(in path: String) throws(FileError) -> [String] {
        // SAFETY: the path is valid during the call.
        guard let directory = unsafe opendir(path) else { throw FileError("open", path) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while true {
            // Only errno distinguishes the end from an error.
            unsafe __errno_location().pointee = 0
            // SAFETY: the stream is open, and only this call uses it.
            guard let entry = unsafe readdir(directory) else {
                guard errno == 0 else { throw FileError("read", path) }
                return names
            }
            let name = unsafe nameOf(entry)
            if name != ".", name != ".." { names.append(name) }
        }
    }

    private static func nameOf(_ entry: UnsafeMutablePointer<dirent>) -> String {
        // SAFETY: a name ends with NUL, and the stream keeps it until the next entry is read.
        unsafe withUnsafePointer(to: &entry.pointee.d_name) {
            unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
    }
}
