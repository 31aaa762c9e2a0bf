package import NetproxySystem

/// The command with which root gives this user access to a file, without giving access to everyone.
package enum ReadRemedy {
    /// The access that a user needs to a file or directory.
    package enum Access: UInt32, Sendable {
        case read = 4
        case enter = 1
    }

    /// Returns the command for a file; `nil` if its status cannot be read.
    static func reading(_ path: String) -> String? { remedy(for: path, .read) }

    /// Returns the command for a directory above a file; `nil` if its status cannot be read.
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

    /// Returns the command that grants access to the user, as far as owner and groups show the cause.
    ///
    /// No command lets a group read a secret, and none takes a file from another user: for such a file, the
    /// command repeats the check as its owner.
    ///
    /// - Parameters:
    ///   - path: the file or directory.
    ///   - access: the missing access.
    ///   - owner: the user id of the owner.
    ///   - isMember: whether the user is in the group of the file or directory.
    ///   - user: the user who needs access.
    /// - Returns: a line for root's shell.
    package static func command(
        for path: String,
        _ access: Access,
        owner: UInt32,
        isMember: Bool,
        user: UserAccount
    ) -> String {
        let letter = access == .read ? "r" : "x"
        if owner == user.id { return "chmod u+\(letter) \(path)" }
        switch access {
        // A person in the file's group is a colleague of the service, not its user.
        case .read where owner == 0 && isMember && !user.isOfTheSystem: return "sudo netproxy check"
        // root can read the file anyway.
        case .read where owner == 0: return "chown \(user.name) \(path)"
        case .read:
            let name = UserAccount.with(id: owner)?.name ?? "\(owner)"
            return "sudo netproxy check --user \(name)"
        // Permission to enter a directory does not include listing it.
        case .enter: return "chmod \(isMember ? "g" : "o")+x \(path)"
        }
    }
}
