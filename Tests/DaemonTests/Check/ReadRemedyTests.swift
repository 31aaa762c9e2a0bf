import NetproxyChannels
import NetproxySystem
import Testing

/// The commands that `check` proposes for a file that a user cannot read.
@Suite struct ReadRemedyTests {
    private func remedy(_ access: ReadRemedy.Access, owner: UInt32, isMember: Bool) -> String {
        ReadRemedy.command(
            for: "/etc/netproxy/x",
            access,
            owner: owner,
            isMember: isMember,
            user: UserAccount(name: "netproxy", id: 990, group: 990)
        )
    }

    @Test func `the remedy for a secret of root is chown`() {
        #expect(remedy(.read, owner: 0, isMember: false) == "chown netproxy /etc/netproxy/x")
    }

    @Test func `the remedy for a secret of the user or the group is chmod`() {
        #expect(remedy(.read, owner: 990, isMember: true) == "chmod u+r /etc/netproxy/x")
        #expect(remedy(.read, owner: 0, isMember: true) == "chmod g+r /etc/netproxy/x")
    }

    @Test func `the remedy for another user's secret keeps its owner`() {
        #expect(
            remedy(.read, owner: 1000, isMember: false)
                == "setfacl -m u:netproxy:r /etc/netproxy/x"
        )
    }

    @Test func `the remedy for a directory allows entering but not listing`() {
        #expect(remedy(.enter, owner: 0, isMember: false) == "chmod o+x /etc/netproxy/x")
        #expect(remedy(.enter, owner: 0, isMember: true) == "chmod g+x /etc/netproxy/x")
    }

    @Test func `users are found by name and by ID`() throws {
        let root = try #require(UserAccount.named("root"))
        #expect(root.id == 0 && root.group == 0)
        #expect(UserAccount.named("nosuchuser") == nil)
        #expect(!UserAccount.current.name.isEmpty)
    }
}
