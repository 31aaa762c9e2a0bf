import FoundationEssentials
import NetworkCore
import Synchronization
import TestSupport
import Testing

@Suite struct TokenFiles {
    @Test func `a store without a file holds nothing`() async throws {
        let folder = try Folder()
        #expect(try await folder.store().read() == nil)
        #expect(try folder.names.isEmpty)
    }

    @Test func `a second store reads what the first one wrote`() async throws {
        let folder = try Folder()
        var grant = StoredGrant(generation: 7)
        grant.accessToken = "access"
        grant.issuedAt = 1_700_000_000.25
        grant.expiresAt = 1_700_003_600
        grant.refreshToken = "refresh"
        grant.seed = "seed"
        grant.scope = "read"
        grant.intentAt = 1_700_000_001
        grant.deadBecause = "invalid_grant: \"ä\""
        try await folder.store().keep(grant)
        #expect(try await folder.store().read() == grant)
    }

    @Test func `the file is for its owner only`() async throws {
        let folder = try Folder()
        try await folder.store().keep(StoredGrant(generation: 1))
        #expect(try folder.mode(of: "family.json") == 0o600)
        #expect(try folder.mode(of: "family.json.lock") == 0o600)
    }

    @Test func `no temporary file is left behind`() async throws {
        let folder = try Folder()
        for generation in 1...3 {
            try await folder.store().keep(StoredGrant(generation: generation))
        }
        #expect(try folder.names == ["family.json", "family.json.lock"])
        #expect(try await folder.store().read()?.generation == 3)
    }

    @Test func `a removed grant is gone, and removing it again is no error`() async throws {
        let folder = try Folder()
        let store = folder.store()
        try await store.keep(StoredGrant(generation: 1))
        let lock = try await store.lock()
        try await lock.remove()
        try await lock.remove()
        #expect(try await lock.read() == nil)
        lock.release()
        #expect(try await store.read() == nil)
        #expect(try folder.names == ["family.json.lock"])
    }

    @Test func `families do not touch each other`() async throws {
        let folder = try Folder()
        try await folder.store(family: "one").keep(StoredGrant(generation: 1))
        try await folder.store(family: "two").keep(StoredGrant(generation: 2))
        #expect(try await folder.store(family: "one").read()?.generation == 1)
        #expect(try await folder.store(family: "two").read()?.generation == 2)
    }

    @Test func `a store in a directory that is not there says so`() async throws {
        let folder = try Folder()
        let store = FileTokenStore(directory: "\(folder.path)/missing", family: "family")
        let error = await #expect(throws: TokenStoreError.self) { try await store.lock() }
        #expect(error?.description.contains("missing/family.json.lock") == true)
    }
}

@Suite struct CorruptTokenFiles {
    @Test(arguments: ["", "garbage", "{", "[]", #"{"generation":"one"}"#])
    func `a corrupt file is set aside as it is, and reported`(_ text: String) async throws {
        let folder = try Folder()
        try folder.write(text, to: "family.json")
        let lock = try await folder.store().lock()
        #expect(try await lock.read() == nil)
        lock.release()
        let aside = try #require(
            folder.names.first { $0.hasPrefix("family.json.corrupt-1700000000-") }
        )
        #expect(folder.reported == ["\(folder.path)/\(aside)"])
        #expect(try folder.text(of: aside) == text)
    }

    @Test func `without the lock a corrupt file is reported and stays where it is`() async throws {
        let folder = try Folder()
        try folder.write("garbage", to: "family.json")
        await #expect(throws: TokenStoreError.self) { try await folder.store().read() }
        #expect(try folder.names == ["family.json"])
    }

    @Test func `what is written next does not touch the file that was set aside`() async throws {
        let folder = try Folder()
        try folder.write("garbage", to: "family.json")
        let store = folder.store()
        let lock = try await store.lock()
        #expect(try await lock.read() == nil)
        try await lock.write(StoredGrant(generation: 2))
        lock.release()
        let aside = try #require(folder.names.first { $0.contains(".corrupt-") })
        #expect(try folder.text(of: aside) == "garbage")
        #expect(try await store.read()?.generation == 2)
        #expect(folder.reported.count == 1)
    }

    @Test func `a file that is too long for a grant is left alone`() async throws {
        let folder = try Folder()
        let text = String(repeating: "x", count: (1 << 20) + 1)
        try folder.write(text, to: "family.json")
        await #expect(throws: TokenStoreError.self) { try await folder.store().read() }
        #expect(try folder.names == ["family.json"])
    }

    @Test func `a symbolic link is not followed`() async throws {
        let folder = try Folder()
        try folder.write("{}", to: "elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/family.json",
            withDestinationPath: "\(folder.path)/elsewhere"
        )
        await #expect(throws: TokenStoreError.self) { try await folder.store().read() }
        #expect(try folder.text(of: "elsewhere") == "{}")
    }
}

@Suite struct TokenFileLocks {
    @Test func `a held lock makes a second store wait`() async throws {
        let folder = try Folder()
        let first = try await folder.store().lock()
        let waiting = folder.store()
        let second = Task { try await waiting.lock().read() }
        await folder.clock.untilSomebodySleeps()
        try await first.write(StoredGrant(generation: 1))
        folder.clock.advance(by: .milliseconds(20))
        // Still held: it tries, and waits again.
        await folder.clock.untilSomebodySleeps()
        first.release()
        folder.clock.advance(by: .milliseconds(20))
        #expect(try await second.value?.generation == 1)
        #expect(folder.clock.slept.count == 2)
    }

    @Test func `a held lock does not keep anybody from reading`() async throws {
        let folder = try Folder()
        let lock = try await folder.store().lock()
        try await lock.write(StoredGrant(generation: 1))
        #expect(try await folder.store().read()?.generation == 1)
        lock.release()
    }

    @Test func `a lock that is never given up is an error in the end`() async throws {
        let folder = try Folder(clock: ManualClock(sleeping: .skipped))
        let lock = try await folder.store().lock()
        let started = folder.clock.now
        let store = folder.store()
        let error = await #expect(throws: TokenStoreError.self) { try await store.lock() }
        #expect(error?.description.contains("held") == true)
        #expect(started.duration(to: folder.clock.now) == .seconds(30))
        lock.release()
    }

    @Test func `a lock can be given up twice without harm to who has it then`() async throws {
        let folder = try Folder(clock: ManualClock(sleeping: .skipped))
        let first = try await folder.store().lock()
        first.release()
        let second = try await folder.store().lock()
        first.release()
        await #expect(throws: TokenStoreError.self) { try await folder.store().lock() }
        second.release()
    }

    @Test func `who waits can give up waiting`() async throws {
        let folder = try Folder()
        let lock = try await folder.store().lock()
        let store = folder.store()
        let waiting = Task { try await store.lock() }
        await folder.clock.untilSomebodySleeps()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        lock.release()
    }
}

/// A directory that goes away with the test.
private final class Folder: Sendable {
    let path: String
    let clock: ManualClock
    private let reports = Mutex<[String]>([])

    init(clock: ManualClock = ManualClock()) throws {
        self.clock = clock
        path =
            FileManager.default.temporaryDirectory
            .appending(path: "netproxy-store-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Where files were set aside, as reported.
    var reported: [String] { reports.withLock { $0 } }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    func store(family: String = "family") -> FileTokenStore {
        FileTokenStore(directory: path, family: family, clock: clock) { [weak self] aside in
            self?.reports.withLock { $0.append(aside) }
        }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }

    func mode(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
        return attributes[.posixPermissions] as? Int
    }
}

extension FileTokenStore {
    /// Writes a grant under the lock.
    fileprivate func keep(_ grant: StoredGrant) async throws {
        let lock = try await lock()
        try await lock.write(grant)
        lock.release()
    }
}
