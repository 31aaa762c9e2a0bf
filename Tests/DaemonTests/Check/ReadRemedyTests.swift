import NetproxyChannels
import NetproxySystem
import Testing

/// Which command `check` proposes for a file that a user may not read.
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

    @Test func `a secret of root's is given to the user`() {
        #expect(remedy(.read, owner: 0, isMember: false) == "chown netproxy /etc/netproxy/x")
    }

    @Test func `a secret of the user's or the group's becomes readable`() {
        #expect(remedy(.read, owner: 990, isMember: true) == "chmod u+r /etc/netproxy/x")
        #expect(remedy(.read, owner: 0, isMember: true) == "chmod g+r /etc/netproxy/x")
    }

    @Test func `another user's secret stays that user's`() {
        #expect(
            remedy(.read, owner: 1000, isMember: false)
                == "setfacl -m u:netproxy:r /etc/netproxy/x"
        )
    }

    @Test func `a directory can be entered, not listed`() {
        #expect(remedy(.enter, owner: 0, isMember: false) == "chmod o+x /etc/netproxy/x")
        #expect(remedy(.enter, owner: 0, isMember: true) == "chmod g+x /etc/netproxy/x")
    }

    @Test func `users are found by their name and by their id`() throws {
        let root = try #require(UserAccount.named("root"))
        #expect(root.id == 0 && root.group == 0)
        #expect(UserAccount.named("nosuchuser") == nil)
        #expect(!UserAccount.current.name.isEmpty)
    }
}
