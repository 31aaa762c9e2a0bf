package import NetproxySystem

/// The command with which root lets this user read a file, without letting everyone.
package enum ReadRemedy {
    /// What a user may do with a file or directory.
    package enum Access: UInt32, Sendable {
        case read = 4
        case enter = 1
    }

    /// The command for a file; `nil` if its status cannot be read.
    static func reading(_ path: String) -> String? { remedy(for: path, .read) }

    /// The command for a directory above a file; `nil` if its status cannot be read.
    static func entering(_ path: String) -> String? { remedy(for: path, .enter) }

    private static func remedy(for path: String, _ access: Access) -> String? {
        do throws(FileError) {
            let status = try FileStatus.of(path: path)
            return command(
                for: path,
                access,
                owner: status.owner,
                isMember: UserAccount.isMember(of: status.group),
                user: .current
            )
        } catch {
            return nil
        }
    }

    /// The command for the user, as far as owner and groups show what is missing.
    ///
    /// - Parameters:
    ///   - path: the file or directory.
    ///   - access: what the user needs.
    ///   - owner: the user id of its owner.
    ///   - isMember: whether the user is in its group.
    ///   - user: who needs access.
    /// - Returns: a line for a shell of root's.
    package static func command(
        for path: String,
        _ access: Access,
        owner: UInt32,
        isMember: Bool,
        user: UserAccount
    ) -> String {
        let letter = access == .read ? "r" : "x"
        if owner == user.id { return "chmod u+\(letter) \(path)" }
        if isMember { return "chmod g+\(letter) \(path)" }
        switch access {
        // root reads it all the same.
        case .read where owner == 0: return "chown \(user.name) \(path)"
        case .read: return "setfacl -m u:\(user.name):r \(path)"
        // To enter a directory is not to list it.
        case .enter: return "chmod o+x \(path)"
        }
    }
}
