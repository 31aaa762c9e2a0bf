import NetproxySystem

/// Who may use a file that this user may not.
package enum DeniedAccess {
    /// One sentence, with the group whose members may and how to become one, if there is one.
    package static func sentence(about path: String) -> String {
        let denied = "permission denied for user \(UserAccount.current.name)"
        guard let status = refuser(of: path) else { return denied }
        let owner = UserAccount.with(id: status.owner)?.name ?? "\(status.owner)"
        let owners = Set(["root", owner]).sorted().joined(separator: " and ")
        guard status.group != 0, status.permissions & 0o070 != 0 else {
            return "\(denied): it is for \(owners)"
        }
        let group = GroupName.of(status.group)
        return """
            \(denied): it is for \(owners) and for members of the group \(group) (sudo usermod -aG \
            \(group) \(UserAccount.current.name), then log in again)
            """
    }

    /// The file itself, or the directory that keeps this user away from it.
    private static func refuser(of path: String) -> FileStatus? {
        do throws(FileError) {
            return try FileStatus.ofEntry(at: path)
        } catch {
            guard error.isForbidden, let slash = path.lastIndex(of: "/"), slash > path.startIndex
            else { return nil }
            return refuser(of: String(path[..<slash]))
        }
    }
}
