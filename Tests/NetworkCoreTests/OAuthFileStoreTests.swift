import Bytes
import FoundationEssentials
import NetworkCore
import TestSupport
import Testing

@Suite struct OAuthFileStores {
    /// A directory of its own, removed at the end.
    private final class Directory: Sendable {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory
                .appendingPathComponent("oauth-\(UInt64.random(in: 0...UInt64.max))").path
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        }

        deinit {
            do { try FileManager.default.removeItem(atPath: path) } catch {}
        }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
        }
    }

    private func record(_ revision: Int, refresh: String = "r") -> TokenRecord {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.revision = revision
        record.refreshToken = Secret(refresh)
        record.seed = "abc"
        record.rotates = true
        record.accessTokens["scope=read"] = TokenRecord.AccessToken(
            value: Secret("a"),
            issuedAt: WallTime(secondsSinceEpoch: 1.5),
            expiresAt: WallTime(secondsSinceEpoch: 3601.5),
            scope: "read"
        )
        record.intent = TokenRecord.Intent(
            fingerprint: "f",
            startedAt: WallTime(secondsSinceEpoch: 2),
            attempts: 1
        )
        record.quarantine = TokenRecord.Quarantine(
            fingerprint: "f",
            reason: "why",
            since: WallTime(secondsSinceEpoch: 3)
        )
        return record
    }

    @Test func `what was saved is read again`() async throws {
        let directory = try Directory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await store.load() == nil)
        try await store.save(record(1), replacing: 0)
        #expect(try await store.load() == record(1))
        try await store.remove(revision: 1)
        #expect(try await store.load() == nil)
    }

    @Test func `the file is its owner's alone and nothing else stays behind`() async throws {
        let directory = try Directory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(record(1), replacing: 0)
        try await store.save(record(2), replacing: 1)
        #expect(try directory.names == ["orders.json"])
        let status = try FileSystem.status("\(directory.path)/orders.json")
        #expect(status?.permissions == 0o600)
    }

    @Test func `a save replaces the file and never writes into it`() async throws {
        let directory = try Directory()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        try await store.save(record(1), replacing: 0)
        let path = "\(directory.path)/orders.json"
        let reader = try FileDescriptor(path, .read)
        try await store.save(record(2, refresh: "new"), replacing: 1)
        let old = try #require(try reader.readAll(upTo: 1 << 16))
        #expect(!String(decoding: old, as: UTF8.self).contains("new"))
    }

    @Test func `what a crash left half written is swept by the next save`() async throws {
        let directory = try Directory()
        try FileDescriptor("\(directory.path)/orders.json.tmp", .createPrivate).writeAll([0x7B])
        let store = FileTokenStore(directory: directory.path, family: "orders")
        #expect(try await store.load() == nil)
        try await store.save(record(1), replacing: 0)
        #expect(try directory.names == ["orders.json"])
    }

    @Test func `a save over somebody else's is refused`() async throws {
        let directory = try Directory()
        let one = FileTokenStore(directory: directory.path, family: "orders")
        let other = FileTokenStore(directory: directory.path, family: "orders")
        try await one.save(record(1), replacing: 0)
        await #expect(throws: TokenStoreError.conflict) {
            try await other.save(record(1), replacing: 0)
        }
        await #expect(throws: TokenStoreError.conflict) { try await other.remove(revision: 7) }
    }

    @Test(arguments: ["", "{", "[]", #"{"version":2,"revision":1}"#, "\u{0}\u{0}"])
    func `a file that makes no sense is set aside`(content: String) async throws {
        let directory = try Directory()
        let path = "\(directory.path)/orders.json"
        try FileDescriptor(path, .createPrivate).writeAll(Array(content.utf8))
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders", clock: clock)
        let moved = "\(path).corrupt-1800000000"
        await #expect(throws: TokenStoreError.corrupt(movedTo: moved)) { try await store.load() }
        #expect(try FileDescriptor(moved, .read).readAll(upTo: 99) == Array(content.utf8))
        #expect(try await store.load() == nil)
    }

    @Test func `a symbolic link is neither read nor replaced`() async throws {
        let directory = try Directory()
        let path = "\(directory.path)/orders.json"
        try FileManager.default.createSymbolicLink(
            atPath: path,
            withDestinationPath: "/etc/passwd"
        )
        let store = FileTokenStore(directory: directory.path, family: "orders")
        await #expect(throws: TokenStoreError.unavailable("\(path) is a symbolic link")) {
            try await store.load()
        }
        await #expect(throws: TokenStoreError.self) {
            try await store.save(record(1), replacing: 0)
        }
        #expect(try directory.names == ["orders.json"])
    }

    @Test func `a family's name cannot leave the directory`() async throws {
        let directory = try Directory()
        let store = FileTokenStore(directory: directory.path, family: "../ev*il")
        try await store.save(record(1), replacing: 0)
        #expect(try directory.names == ["%2E.%2Fev%2Ail.json"])
    }

    @Test func `one store has the lock at a time`() async throws {
        let directory = try Directory()
        let clock = ManualClock()
        let one = FileTokenStore(directory: directory.path, family: "orders")
        let other = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await one.lock(until: clock.now + .seconds(1), clock: clock)
        let waiting = Task {
            try await other.lock(until: clock.now + .seconds(10), clock: clock)
        }
        #expect(await eventually { clock.sleepers == 1 })
        held.release()
        clock.advance(by: .seconds(1))
        try await waiting.value.release()
    }

    @Test func `a lock that stays taken is given up at the deadline`() async throws {
        let directory = try Directory()
        let clock = ManualClock()
        let store = FileTokenStore(directory: directory.path, family: "orders")
        let held = try await store.lock(until: clock.now, clock: clock)
        await #expect(throws: TokenStoreError.locked("\(directory.path)/orders.lock")) {
            try await store.lock(until: clock.now, clock: clock)
        }
        held.release()
    }

    @Test func `errors carry the system's own words`() async throws {
        let store = FileTokenStore(directory: "/proc/nowhere/at/all", family: "orders")
        let error = await #expect(throws: TokenStoreError.self) {
            try await store.save(record(1), replacing: 0)
        }
        #expect(error?.description.contains("No such file or directory") == true)
    }

    @Test func `two processes share one refresh token through the file`() async throws {
        let directory = try Directory()
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
        // The second looks at the lock again when its clock says so.
        _ = await eventually {
            clock.advance(by: .milliseconds(20))
            return other.manager.currentCredential() != nil
        }
        #expect(await second.value == .replay)
        #expect(try await other.token() == "Bearer access-2")
        #expect(server.requests.count == 2)
        #expect(!server.sawReuse)
    }

    @Test func `a corrupt file is told and the configured refresh token is used`() async throws {
        let directory = try Directory()
        let path = "\(directory.path)/orders.json"
        try FileDescriptor(path, .createPrivate).writeAll(Array("{".utf8))
        let harness = OAuthHarness(
            grant: .refreshToken(initial: Secret("initial")),
            store: FileTokenStore(directory: directory.path, family: "orders")
        )
        #expect(try await harness.token() == "Bearer access-1")
        #expect(
            harness.events.contains {
                if case .storeFailed(let detail) = $0 { detail.contains("corrupt-") } else { false }
            }
        )
    }
}
