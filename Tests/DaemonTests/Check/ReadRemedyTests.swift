import NetproxyChannels
import NetproxySystem
import Testing

/// The commands that `check` proposes for a file that a user cannot read.
@Suite struct ReadRemedyTests {
    private func remedy(
        _ access: ReadRemedy.Access,
        owner: UInt32,
        isMember: Bool,
        user: UInt32 = 990
    ) -> String {
        ReadRemedy.command(
            for: "/etc/netproxy/x",
            access,
            owner: owner,
            isMember: isMember,
            user: UserAccount(name: "netproxy", id: user, group: user)
        )
    }

    @Test func `the remedy for a secret of root is chown`() {
        #expect(remedy(.read, owner: 0, isMember: false) == "chown netproxy /etc/netproxy/x")
    }

    @Test func `the remedy for the user's own secret is chmod`() {
        #expect(remedy(.read, owner: 990, isMember: true) == "chmod u+r /etc/netproxy/x")
    }

    @Test func `no remedy lets the group read a secret`() {
        #expect(remedy(.read, owner: 0, isMember: true) == "chown netproxy /etc/netproxy/x")
        #expect(remedy(.read, owner: 0, isMember: true, user: 1001) == "sudo netproxy check")
    }

    @Test(arguments: [true, false])
    func `the remedy for another user's secret is a check as that user`(isMember: Bool) {
        let command = remedy(.read, owner: 4_000_000, isMember: isMember)
        #expect(command == "sudo netproxy check --user 4000000")
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
