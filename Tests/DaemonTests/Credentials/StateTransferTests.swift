import Foundation
import NetproxyCommands
import NetproxyConfig
import NetworkCore
import OAuth
import TestSupport
import Testing

/// The transfer of tokens with `netproxy state`.
@Suite struct StateTransferTests {
    private let old: TokenDirectory
    private let new: TokenDirectory
    private let clock = SystemClock()

    init() throws {
        (old, new) = (try TokenDirectory(), try TokenDirectory())
    }

    private func transfer(_ directory: TokenDirectory, key: String? = nil) throws -> StateTransfer {
        let seal = key.map { "state_key: literal:\($0)\n" } ?? ""
        let text =
            "state: \(directory.path)\n\(seal)channels: { orders: { upstream: https://a.example } }\n"
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "netproxy.yaml",
            environment: ["HOME": directory.path]
        ).get()
        return try StateTransfer(configuration, environment: [:])
    }

    private func store(_ family: String, in directory: TokenDirectory) -> FileTokenStore {
        FileTokenStore(directory: directory.path, family: family)
    }

    private func put(_ token: String, for family: String, in directory: TokenDirectory) async throws
    {
        var record = TokenRecord(authority: "client@https://login.example.com/token")
        record.refreshToken = Secret(token)
        record.revision = 1
        try await store(family, in: directory).save(record, replacing: 0)
    }

    @Test func `tokens move from one store to another`() async throws {
        try await put("first", for: "orders", in: old)
        try await put("second", for: "a/b", in: old)
        let path = "\(old.path)/moved"
        let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        let source = try transfer(old, key: key)
        defer { source.close() }
        #expect(try await source.export(to: path, keeping: false) == ["a/b", "orders"])
        let left = FileTokenStore(
            directory: old.path,
            family: "orders",
            seal: try TokenSeal(base64: Secret(key))
        )
        #expect(try await left.load()?.signedOutAt != nil)
        #expect(try await left.load()?.refreshToken == nil)
        let content = try Data(contentsOf: URL(filePath: path))
        #expect(!String(decoding: content, as: UTF8.self).contains("first"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let target = try transfer(new, key: key)
        defer { target.close() }
        #expect(try await target.import(from: path, replacing: false) == ["a/b", "orders"])
        let seal = try TokenSeal(base64: Secret(key))
        let moved = FileTokenStore(directory: new.path, family: "a/b", seal: seal)
        #expect(try await moved.load()?.refreshToken == Secret("second"))
    }

    @Test func `a copy keeps the tokens in the source`() async throws {
        try await put("first", for: "orders", in: old)
        let source = try transfer(old)
        defer { source.close() }
        _ = try await source.export(to: "\(new.path)/copy", keeping: true)
        #expect(try await store("orders", in: old).load()?.refreshToken == Secret("first"))
    }

    @Test func `tokens are not moved while a daemon renews them`() async throws {
        try await put("first", for: "orders", in: old)
        let lock = try await store("orders", in: old).lock(
            until: clock.now + .seconds(5),
            clock: clock
        )
        let source = try transfer(old)
        defer { source.close() }
        let path = "\(new.path)/moved"
        do {
            _ = try await source.export(to: path, keeping: false)
            Issue.record("it was moved")
        } catch let error as StateTransfer.Failure {
            #expect(error.description.contains("a daemon renews tokens now"))
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        lock.release()
        #expect(try await source.export(to: path, keeping: false) == ["orders"])
    }

    @Test func `existing tokens are replaced only on request`() async throws {
        try await put("first", for: "orders", in: old)
        try await put("third", for: "bills", in: old)
        try await put("second", for: "orders", in: new)
        let path = "\(old.path)/moved"
        let (source, target) = (try transfer(old), try transfer(new))
        defer {
            source.close()
            target.close()
        }
        _ = try await source.export(to: path, keeping: false)
        await #expect(throws: StateTransfer.Failure.self) {
            try await target.import(from: path, replacing: false)
        }
        #expect(try await store("bills", in: new).load() == nil)
        _ = try await target.import(from: path, replacing: true)
        #expect(try await store("orders", in: new).load()?.refreshToken == Secret("first"))
        #expect(try await store("orders", in: new).load()?.revision == 2)
    }

    @Test func `an archive never overwrites a file, and other files are refused as archives`()
        async throws
    {
        try await put("first", for: "orders", in: old)
        let (source, target) = (try transfer(old), try transfer(new))
        defer {
            source.close()
            target.close()
        }
        await #expect(throws: StateTransfer.Failure.self) {
            try await source.export(to: "\(old.path)/orders.json", keeping: false)
        }
        await #expect(throws: StateTransfer.Failure.self) {
            try await target.import(from: "\(old.path)/orders.json", replacing: false)
        }
        await #expect(throws: StateTransfer.Failure.self) {
            try await target.export(to: "\(new.path)/none", keeping: false)
        }
        #expect(try await store("orders", in: old).load()?.refreshToken == Secret("first"))
    }
}
