import Glibc

/// Checks whether other users could have modified a file, or could replace the files in a directory.
package enum FileTrust {
    /// Returns the reason to distrust the content of a file, or `nil`.
    ///
    /// A file is trusted if only root, this user and, for root, the owner of the directory can have written
    /// it. Root signs in for services that run as other users, and assigns the files to them.
    ///
    /// - Parameters:
    ///   - status: the status of the file.
    ///   - directory: the directory of the file.
    /// - Returns: a clause with the problem and its remedy.
    package static func objection(to status: FileStatus, in directory: String) -> String? {
        if status.permissions & 0o002 != 0 {
            return "every user can write to it, so it is not used; remove it, or check its "
                + "content and chmod 600"
        }
        if isTrusted(status.owner) { return nil }
        if geteuid() == 0, owner(of: directory) == status.owner { return nil }
        return "it belongs to the user with id \(status.owner), so it is not used; remove it, "
            + "or check its content and chown it"
    }

    /// Returns the reason why other users can replace the files in a directory.
    ///
    /// Returns `nil` if they cannot, or if the directory does not exist yet.
    package static func objection(toDirectory path: String) -> String? {
        let status: FileStatus
        do throws(FileError) {
            status = try FileStatus.of(path: path)
        } catch {
            // A missing directory is created at the start; other errors are reported at its first use.
            return nil
        }
        if status.permissions & 0o022 != 0 {
            let mode = String(status.permissions, radix: 8)
            return "other users can write to \(path) (mode \(mode)) and replace what is in it; "
                + "fix: chmod go-w \(path)"
        }
        guard !isTrusted(status.owner), geteuid() != 0 else { return nil }
        return "\(path) belongs to the user with id \(status.owner), who can replace what is in "
            + "it; fix: chown \(geteuid()) \(path)"
    }

    /// Whether a path is a directory, not a link to one, that only this user may access.
    package static func isPrivateDirectory(_ path: String) -> Bool {
        do throws(FileError) {
            let status = try FileStatus.ofEntry(at: path)
            return status.isDirectory && status.owner == user && status.permissions & 0o077 == 0
        } catch {
            return false
        }
    }

    /// The effective user ID of this process.
    package static var user: UInt32 { geteuid() }

    private static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

    private static func owner(of directory: String) -> UInt32? {
        do throws(FileError) {
            return try FileStatus.of(path: directory).owner
        } catch {
            return nil
        }
    }
}
