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

    /// Returns the reason why other users can replace a file: they may write to it or to a directory above
    /// it, like in OpenSSH's `StrictModes`.
    ///
    /// The sticky bit, as on `/tmp`, protects the entries of a directory.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the file.
    ///   - user: another trusted user, such as the one that the service runs as.
    /// - Returns: a clause with the problem and its remedy; `nil` if only root and this user can replace the
    ///   file, and for anything but a regular file.
    package static func objection(toFile path: String, alsoTrusting user: UInt32? = nil) -> String?
    {
        guard let file = status(path), file.isRegular else { return nil }
        let target = FileSystem.resolved(path) ?? path
        // Whoever may write to the directory of a link may replace the link.
        let above = directories(above: path) + directories(above: target).reversed()
        var seen: Set<String> = []
        for place in [target] + above where seen.insert(place).inserted {
            guard let status = status(place) else { continue }
            if let writer = writer(of: status, alsoTrusting: user) {
                let what = place == target ? "" : " and replace what is in it"
                return "\(writer) can write to \(place)\(what)"
                    + "; fix: chmod go-w \(place), or chown it"
            }
        }
        return nil
    }

    /// The other users who can write to a file or directory, in words; `nil` if there are none.
    private static func writer(of status: FileStatus, alsoTrusting user: UInt32?) -> String? {
        let mode = String(status.permissions, radix: 8)
        let isProtected = status.isDirectory && status.permissions & 0o1000 != 0
        if status.permissions & 0o002 != 0, !isProtected { return "every user (mode \(mode))" }
        // A group of the same number as its user has no other members (user private groups).
        let isPrivate = status.group == 0 || (status.group == geteuid() && geteuid() == getegid())
        if status.permissions & 0o020 != 0, !isPrivate, !isProtected {
            return "the group with id \(status.group) (mode \(mode))"
        }
        guard !isTrusted(status.owner), status.owner != user else { return nil }
        return "the user with id \(status.owner)"
    }

    private static func directories(above path: String) -> [String] {
        var found: [String] = []
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/") {
            rest = rest[..<slash]
            found.append(rest.isEmpty ? "/" : String(rest))
        }
        return found
    }

    private static func status(_ path: String) -> FileStatus? {
        do throws(FileError) { return try FileStatus.of(path: path) } catch { return nil }
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

    /// The owner of a directory; `nil` without one.
    package static func owner(of directory: String) -> UInt32? {
        do throws(FileError) {
            return try FileStatus.of(path: directory).owner
        } catch {
            return nil
        }
    }
}
