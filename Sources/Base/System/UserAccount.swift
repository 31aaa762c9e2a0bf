import Glibc

/// A user of this machine, with the primary group.
package struct UserAccount: Sendable, Hashable {
    package let name: String
    package let id: UInt32
    /// The primary group.
    package let group: UInt32

    /// Whether the account belongs to a service rather than a person (Debian Policy §9.2.2).
    package var isOfTheSystem: Bool { id < 1000 }

    package init(name: String, id: UInt32, group: UInt32) {
        (self.name, self.id, self.group) = (name, id, group)
    }

    /// The effective user of this process; without an entry in the user database, its name is the ID.
    package static var current: UserAccount {
        let id = geteuid()
        return with(id: id) ?? UserAccount(name: "\(id)", id: id, group: getegid())
    }

    /// Returns the user with an ID; `nil` if the machine has no such user.
    package static func with(id: UInt32) -> UserAccount? {
        // SAFETY: the pointers come from `lookUp` and are valid during the call.
        unsafe lookUp { entry, buffer, size, found in
            unsafe getpwuid_r(id, entry, buffer, size, found)
        }
    }

    /// Returns the user with a name; `nil` if the machine has no such user.
    package static func named(_ name: String) -> UserAccount? {
        // SAFETY: the pointers come from `lookUp` and are valid during the call.
        unsafe lookUp { entry, buffer, size, found in
            unsafe getpwnam_r(name, entry, buffer, size, found)
        }
    }

    /// Whether this process is a member of a group, and so can read the files that the group can read.
    package static func isMember(of group: UInt32) -> Bool {
        guard getegid() != group else { return true }
        // Without space, only the number of groups is returned.
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        // SAFETY: the array has space for that many, and is valid during the call.
        guard unsafe getgroups(count, &groups) == count else { return false }
        return groups.contains(group)
    }

    /// Makes the whole process act as this user, with the user's groups, until it ends.
    ///
    /// - Throws: `FileError` if this process does not run as root, or the system refuses.
    package func assume() throws(FileError) {
        guard id != geteuid() else { return }
        // SAFETY: the name is valid during the call.
        guard unsafe initgroups(name, group) == 0 else { throw FileError("initgroups") }
        guard setgid(group) == 0 else { throw FileError("setgid") }
        guard setuid(id) == 0 else { throw FileError("setuid") }
    }

    private typealias Query = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32

    /// Reads an entry of the user database, which places its texts in the buffer.
    private static func lookUp(_ query: Query) -> UserAccount? {
        // An entry has a home directory, a shell and a comment, none of them longer than a path.
        var buffer = [CChar](repeating: 0, count: 16_384)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            // SAFETY: entry, buffer and result outlive the call; the name is copied below while its buffer
            // still exists.
            guard unsafe query(&entry, base, buffer.count, &found) == 0, unsafe found != nil,
                let name = unsafe entry.pw_name
            else { return nil }
            return unsafe UserAccount(
                name: String(cString: name),
                id: entry.pw_uid,
                group: entry.pw_gid
            )
        }
    }
}
