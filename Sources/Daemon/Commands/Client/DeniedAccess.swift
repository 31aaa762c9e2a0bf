import NetproxySystem

/// An explanation of a denied file access.
package enum DeniedAccess {
    /// Returns one sentence, with the group that has access and the way to join it, if there is such a group.
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

    /// Returns the status of the file, or of the directory that denies access to it.
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
