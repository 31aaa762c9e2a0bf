import Glibc

/// Judges whether a file or a directory is safe from other users: another user could have modified it.
package enum FileTrust {
    /// Why the content of a file may be another user's; `nil` if only root, this user and, for root, the
    /// owner of the directory can have written it.
    ///
    /// Root signs in for services that run as other users, and gives them the files.
    ///
    /// - Parameters:
    ///   - status: of the file.
    ///   - directory: where it is.
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

    /// Why other users can replace the files in a directory; `nil` if they cannot, or if there is no such
    /// directory yet.
    package static func objection(toDirectory path: String) -> String? {
        let status: FileStatus
        do throws(FileError) {
            status = try FileStatus.of(path: path)
        } catch {
            // Made at the start, or reported where it is used.
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

    /// Whether a path is a directory, and no link to one, that only this user may enter.
    package static func isPrivateDirectory(_ path: String) -> Bool {
        do throws(FileError) {
            let status = try FileStatus.ofEntry(at: path)
            return status.isDirectory && status.owner == user && status.permissions & 0o077 == 0
        } catch {
            return false
        }
    }

    /// The id of the user that this process acts as.
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
