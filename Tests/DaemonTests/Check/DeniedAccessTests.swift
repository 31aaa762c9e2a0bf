import FoundationEssentials
import Glibc
import NetproxyCommands
import NetproxySystem
import Testing

/// The sentence for a user without access to a file.
@Suite struct DeniedAccessTests {
    private func sentence(mode: Int, group: gid_t) throws -> String {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "denied-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try #require(FileManager.default.createFile(atPath: path, contents: nil))
        var attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
        if geteuid() == 0 {
            attributes[.ownerAccountID] = 4_000_000_000
            attributes[.groupOwnerAccountID] = Int(group)
        }
        try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
        return DeniedAccess.sentence(about: path)
    }

    @Test func `a group with access is named, with the command to join it`() throws {
        try #require(geteuid() != 0 || GroupName.of(1) == "daemon")
        let group = geteuid() == 0 ? 1 : getegid()
        let name = GroupName.of(group)
        let words = try sentence(mode: 0o660, group: group)
        #expect(words.hasPrefix("permission denied for user "))
        #expect(words.contains(" and for members of the group \(name) (sudo usermod -aG \(name) "))
    }

    @Test func `without such a group only the owner and root are named`() throws {
        let words = try sentence(mode: 0o600, group: 1)
        #expect(words.hasSuffix(geteuid() == 0 ? ": it is for 4000000000 and root" : " and root"))
        #expect(!words.contains("group"))
    }

    @Test func `the sentence for a missing file names no owner`() {
        #expect(DeniedAccess.sentence(about: "/nowhere/at/all").hasSuffix(UserAccount.current.name))
    }

    @Test func `a group without a name is shown as its ID`() {
        #expect(GroupName.of(4_000_000_001) == "4000000001")
    }
}
