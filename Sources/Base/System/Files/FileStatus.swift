import Glibc

/// A file's identity, length and other attributes.
package struct FileStatus: Sendable, Hashable {
    /// The device that contains the file.
    package let device: UInt64
    /// The inode number on the device.
    package let inode: UInt64
    /// The length in bytes.
    package let size: Int
    /// Whether it is a regular file: not a pipe, device, directory or link.
    package let isRegular: Bool
    /// Whether it is a directory.
    package let isDirectory: Bool
    /// The permission bits.
    package let permissions: UInt32
    /// The user ID of the owner.
    package let owner: UInt32
    /// The ID of the group.
    package let group: UInt32
    /// Whether a path still leads to the file; an open file may have lost its last one.
    package let isLinked: Bool
    /// The time of the last change to the content, since 1970.
    package let modified: Duration

    /// Whether both are the same file, regardless of their lengths.
    package func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device
    }

    /// Whether the file is unchanged, judged by its length and time.
    package func isUnchanged(since earlier: FileStatus) -> Bool {
        size == earlier.size && modified == earlier.modified
    }

    /// Returns the status of the file at a path; follows a symbolic link.
    package static func of(path: String) throws(FileError) -> FileStatus {
        var information = stat()
        // SAFETY: path and structure are valid during the call.
        guard unsafe stat(path, &information) == 0 else { throw FileError("stat") }
        return FileStatus(information)
    }

    /// Whether a path leads to an executable file.
    package static func isProgram(_ path: String) -> Bool {
        do throws(FileError) {
            let status = try of(path: path)
            return status.isRegular && status.permissions & 0o111 != 0
        } catch {
            return false
        }
    }

    /// Returns the status of the directory entry at a path, which may be a symbolic link.
    package static func ofEntry(at path: String) throws(FileError) -> FileStatus {
        var information = stat()
        // SAFETY: path and structure are valid during the call.
        guard unsafe lstat(path, &information) == 0 else { throw FileError("lstat") }
        return FileStatus(information)
    }

    /// Reads the status of an open file.
    init(descriptor: Int32, _ path: String? = nil) throws(FileError) {
        var information = stat()
        // SAFETY: the structure is valid during the call.
        guard unsafe fstat(descriptor, &information) == 0 else { throw FileError("fstat", path) }
        self.init(information)
    }

    private init(_ information: stat) {
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
        size = Int(information.st_size)
        permissions = UInt32(information.st_mode & 0o7777)
        owner = information.st_uid
        group = information.st_gid
        isLinked = information.st_nlink > 0
        isRegular = information.st_mode & S_IFMT == S_IFREG
        isDirectory = information.st_mode & S_IFMT == S_IFDIR
        modified =
            .seconds(information.st_mtim.tv_sec) + .nanoseconds(information.st_mtim.tv_nsec)
    }
}
