import FoundationEssentials
import Glibc
import NetproxySystem
import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct FileTokenStoreTests {
    @Test func `a saved record is read back`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await store.load() == nil)
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        #expect(try await store.load() == TokenRecord.forTests(1))
    }

    @Test func `only the owner may read the file, and no other file is left`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        try await store.save(TokenRecord.forTests(2), replacing: 1)
        #expect(try directory.names == ["orders.json"])
        let status = try FileSystem.status("\(directory.path)/orders.json")
        #expect(status?.permissions == 0o600)
    }

    @Test func `a save replaces the file instead of writing into it`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        let path = "\(directory.path)/orders.json"
        let reader = try FileDescriptor(path, .read)
        try await store.save(TokenRecord.forTests(2, refresh: "new"), replacing: 1)
        let old = try #require(try reader.readAll(upTo: 1 << 16))
        #expect(!String(decoding: old, as: UTF8.self).contains("new"))
    }

    @Test func `the next save removes a file that a crash left half written`() async throws {
        let directory = try TokenDirectory()
        try FileDescriptor("\(directory.path)/orders.json.tmp", .createPrivate).writeAll([0x7B])
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await store.load() == nil)
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        #expect(try directory.names == ["orders.json"])
    }

    @Test func `a save over another save is refused`() async throws {
        let directory = try TokenDirectory()
        let one = FileTokenStore(directory: directory.path, family: "orders")
        let other = FileTokenStore(directory: directory.path, family: "orders")
        try await one.save(TokenRecord.forTests(1), replacing: 0)
        await #expect(throws: TokenStoreError.conflict) {
            try await other.save(TokenRecord.forTests(1), replacing: 0)
        }
    }

    @Test func `a file of a later version is left in place and not overwritten`()
        async throws
    {
        let directory = try TokenDirectory()
        let later = #"{"version":2,"revision":7,"tokens":["r"]}"#
        try directory.write(later, to: "orders.json")
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders", clock: clock)
        let lock = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        for work in [
            { _ = try await store.load(under: lock) },
            { try await store.save(TokenRecord.forTests(1), replacing: 0) },
        ] {
            await #expect {
                try await work()
            } throws: { error in
                guard case TokenStoreError.unreadable(let words) = error else { return false }
                return words.contains("was written by a later netproxy")
            }
        }
        #expect(try directory.names == ["orders.json", "orders.lock"])
        #expect(try directory.text(of: "orders.json") == later)
    }

    @Test(arguments: [
        "", "{", "[]", #"{"version":1,"revision":1}"#, "\u{0}\u{0}",
        #"{"version":1,"revision":0,"authority":"a","access_tokens":{}}"#,
    ])
    func `a corrupt file is set aside`(content: String) async throws {
        let directory = try TokenDirectory()
        try directory.write(content, to: "orders.json")
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders", clock: clock)
        let lock = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        let error = await #expect(throws: TokenStoreError.self) {
            try await store.load(under: lock)
        }
        let moved = try #require(directory.names.first { $0.contains(".corrupt-1800000000-") })
        #expect(error == .corrupt(movedTo: "\(directory.path)/\(moved)"))
        #expect(
            try FileDescriptor("\(directory.path)/\(moved)", .read).readAll(upTo: 99)
                == Array(content.utf8)
        )
        #expect(try await store.load() == nil)
        lock.release()
    }

    @Test(arguments: [
        #""revision":9223372036854775807"#, #""revision":0"#,
        #""revision":1,"refresh_expires_at":1e300"#, #""revision":1,"refresh_expires_at":-1e300"#,
        #""revision":1,"intent":{"fingerprint":"a","started_at":1,"attempts":9223372036854775807}"#,
        #""revision":1,"intent":{"fingerprint":"a","started_at":1e99,"attempts":1}"#,
        #""revision":1,"quarantine":{"fingerprint":"a","reason":"b","since":1e99}"#,
    ])
    func `a file with numbers out of range is corrupt`(numbers: String) async throws {
        let directory = try TokenDirectory()
        let content = #"{"version":1,"authority":"a","access_tokens":{},\#(numbers)}"#
        try directory.write(content, to: "orders.json")
        let store = FileTokenStore(directory: directory.path, family: "orders")
        await #expect(throws: TokenStoreError.self) { try await store.load() }
    }

    @Test(arguments: [#""issued_at":1e300"#, #""issued_at":1,"expires_at":1e300"#])
    func `a file with an invalid time of a token is corrupt`(times: String) async throws {
        let directory = try TokenDirectory()
        let tokens = #"{"key":{"value":"t",\#(times)}}"#
        let content = #"{"version":1,"revision":1,"authority":"a","access_tokens":\#(tokens)}"#
        try directory.write(content, to: "orders.json")
        let store = FileTokenStore(directory: directory.path, family: "orders")
        await #expect(throws: TokenStoreError.self) { try await store.load() }
    }

    @Test func `without the lock a corrupt file is left in place`() async throws {
        let directory = try TokenDirectory()
        try directory.write("garbage", to: "orders.json")
        let store = FileTokenStore(directory: directory.path, family: "orders")
        await #expect(throws: TokenStoreError.self) { try await store.load() }
        await #expect(throws: TokenStoreError.self) {
            try await store.save(TokenRecord.forTests(1), replacing: 0)
        }
        #expect(try directory.names == ["orders.json"])
    }

    @Test func `the next save does not touch the corrupt file`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders", clock: clock)
        let lock = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        for content in ["one", "two"] {
            try directory.write(content, to: "orders.json")
            await #expect(throws: TokenStoreError.self) { try await store.load(under: lock) }
        }
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        lock.release()
        let aside = try directory.names.filter { $0.contains(".corrupt-") }
        #expect(try Set(aside.map(directory.text)) == ["one", "two"])
        #expect(try await store.load() == TokenRecord.forTests(1))
    }

    @Test func `only the last few corrupt files are kept`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders", clock: clock)
        let lock = try await store.lock(until: clock.now + .seconds(1), clock: clock)
        for number in 1...9 {
            try directory.write("broken \(number)", to: "orders.json")
            await #expect(throws: TokenStoreError.self) { try await store.load(under: lock) }
            clock.advance(by: .seconds(1))
        }
        let aside = try directory.names.filter { $0.contains(".corrupt-") }
        #expect(
            try aside.map(directory.text) == (6...9).map { "broken \($0)" }
        )
    }

    @Test func `a sign-out leaves a record without tokens`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(.forTests(1), replacing: 0)
        try await store.forgetSignIn()
        let left = try #require(try await store.load())
        #expect(left.signedOutAt != nil)
        #expect(left.refreshToken == nil && left.accessTokens.isEmpty)
        #expect(left.revision == 2)
    }

    @Test func `the highest revisions survive the store`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(await store.revisions().isEmpty)
        await store.keepRevisions(["a": 7, "b": 9])
        let next = FileTokenStore(directory: directory.path, family: "orders")
        #expect(await next.revisions() == ["a": 7, "b": 9])
        try directory.write("a 8\nnonsense\nb -1\n", to: "orders.revisions")
        #expect(await next.revisions() == ["a": 8])
    }

    @Test(arguments: [0o602, 0o666, 0o622 | 0o002] as [Int])
    func `a file that every user may write is not used`(mode: Int) async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(.forTests(1), replacing: 0)
        let path = "\(directory.path)/orders.json"
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        await #expect {
            try await store.load()
        } throws: { error in
            guard case TokenStoreError.unreadable(let words) = error else { return false }
            return words.contains("every user can write to it")
        }
        #expect(try directory.names.contains("orders.json"))
    }

    /// Needs root, who may give files away.
    @Test(.enabled(if: geteuid() == 0))
    func `a file of another user is not used, unless the directory is that user's`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(.forTests(1), replacing: 0)
        func give(_ path: String, to user: Int) throws {
            try FileManager.default.setAttributes([.ownerAccountID: user], ofItemAtPath: path)
        }
        try give("\(directory.path)/orders.json", to: 65534)
        await #expect {
            try await store.load()
        } throws: { error in
            guard case TokenStoreError.unreadable(let words) = error else { return false }
            return words.contains("it belongs to the user with id 65534")
        }
        try give(directory.path, to: 65534)
        #expect(try await store.load() == .forTests(1))
    }

    @Test func `families do not affect each other`() async throws {
        let directory = try TokenDirectory()
        let one = FileTokenStore(directory: directory.path, family: "one")
        let two = FileTokenStore(directory: directory.path, family: "two")
        try await one.save(TokenRecord.forTests(1, refresh: "1"), replacing: 0)
        try await two.save(TokenRecord.forTests(1, refresh: "2"), replacing: 0)
        #expect(try await one.load()?.refreshToken == Secret("1"))
        #expect(try await two.load()?.refreshToken == Secret("2"))
    }

    @Test func `a missing directory is created for its owner only`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let path = "\(directory.path)/a/b"
        let store = FileTokenStore(directory: path, family: "orders")
        try await store.lock(until: clock.now + .seconds(1), clock: clock).release()
        #expect(try FileSystem.status(path)?.permissions == 0o700)
    }

    @Test func `a symbolic link is neither read nor replaced`() async throws {
        let directory = try TokenDirectory()
        let path = "\(directory.path)/orders.json"
        try FileManager.default.createSymbolicLink(
            atPath: path,
            withDestinationPath: "/etc/passwd"
        )
        let store = FileTokenStore(directory: directory.path, family: "orders")
        await #expect(throws: TokenStoreError.unreadable("\(path) is a symbolic link")) {
            try await store.load()
        }
        await #expect(throws: TokenStoreError.self) {
            try await store.save(TokenRecord.forTests(1), replacing: 0)
        }
        #expect(try directory.names == ["orders.json"])
    }

    @Test func `the name of a family cannot escape the directory`() async throws {
        let directory = try TokenDirectory()
        let store = FileTokenStore(directory: directory.path, family: "../ev*il")
        try await store.save(TokenRecord.forTests(1), replacing: 0)
        #expect(try directory.names == ["%2E.%2Fev%2Ail.json"])
    }

    @Test func `errors quote the system's message`() async throws {
        let store = FileTokenStore(directory: "/proc/nowhere/at/all", family: "orders")
        let error = await #expect(throws: TokenStoreError.self) {
            try await store.save(TokenRecord.forTests(1), replacing: 0)
        }
        #expect(error?.description.contains("No such file or directory") == true)
    }

    @Test func `two processes share one refresh token through the file`() async throws {
        let directory = try TokenDirectory()
        let clock = ManualClock()
        let server = AuthorizationServerModel(clock: clock)
        func harness() -> OAuthHarness {
            OAuthHarness(
                grant: .refreshToken(initial: Secret("initial")),
                clock: clock,
                server: server,
                store: FileTokenStore(directory: directory.path, family: "orders")
            )
        }
        let (one, other) = (harness(), harness())
        #expect(try await one.token() == "Bearer access-1")
        #expect(try await other.token() == "Bearer access-1")
        server.revokeAccess()
        server.gate.close()
        async let first = one.reject(1)
        #expect(await eventually { server.gate.waiting == 1 })
        let second = Task { await other.reject(1) }
        #expect(await eventually { clock.sleepers >= 2 })
        server.gate.open()
        #expect(await first == .replay)
        // The second caller tries the lock again at the time of its clock.
        _ = await eventually {
            clock.advance(by: .milliseconds(20))
            return other.manager.currentCredential() != nil
        }
        #expect(await second.value == .replay)
        #expect(try await other.token() == "Bearer access-2")
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }

    @Test func `a corrupt file is reported and the configured refresh token is used`() async throws
    {
        let directory = try TokenDirectory()
        let path = "\(directory.path)/orders.json"
        try FileDescriptor(path, .createPrivate).writeAll(Array("{".utf8))
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: FileTokenStore(directory: directory.path, family: "orders")
        )
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            harness.events.contains {
                if case .storeFailed(.corrupt, let detail) = $0 {
                    detail.contains("corrupt-")
                } else {
                    false
                }
            }
        )
    }
}
