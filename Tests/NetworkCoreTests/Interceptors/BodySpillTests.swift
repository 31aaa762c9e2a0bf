import FoundationEssentials
import NetproxyBytes
import NetproxySystem
import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct BodySpills {
    private func text(_ body: HTTPBody) async throws -> String {
        String(decoding: try await body.collect(upTo: 1 << 22).array, as: UTF8.self)
    }

    @Test(arguments: [0, 1, 4, 7, 9])
    func `a body above the memory limit is replayed from disk`(
        _ memory: Int
    ) async throws {
        let directory = try TokenDirectory()
        let buffer = ReplayBuffer(
            PieceSource(["abc", "def", "ghi", "j"]),
            length: nil,
            limit: memory,
            spill: BodySpill(directory: directory.path, limit: 10)
        )
        for _ in 0..<3 { #expect(try await text(buffer.body()) == "abcdefghij") }
        #expect(buffer.isReplayable)
        // The file has no name.
        #expect(try directory.names.isEmpty)
    }

    @Test func `a long body is replayed byte for byte`() async throws {
        let directory = try TokenDirectory()
        let pieces = (0..<300).map { String(repeating: "\($0 % 10)", count: 1000 + $0) }
        let buffer = ReplayBuffer(
            PieceSource(pieces),
            length: nil,
            limit: 64 * 1024,
            spill: BodySpill(directory: directory.path, limit: 1 << 20)
        )
        let whole = pieces.joined()
        #expect(try await text(buffer.body()) == whole)
        #expect(try await text(buffer.body()) == whole)
    }

    @Test func `a body above the disk limit is sent once, complete`() async throws {
        let directory = try TokenDirectory()
        let buffer = ReplayBuffer(
            PieceSource(["abc", "def", "ghi"]),
            length: nil,
            limit: 3,
            spill: BodySpill(directory: directory.path, limit: 8)
        )
        #expect(try await text(buffer.body()) == "abcdefghi")
        #expect(!buffer.isReplayable)
    }

    @Test func `a full disk prevents the replay but not the upload`() async throws {
        let buffer = ReplayBuffer(
            PieceSource(["abc", "def"]),
            length: nil,
            limit: 3,
            spill: BodySpill(directory: "/proc/nowhere", limit: 8)
        )
        #expect(try await text(buffer.body()) == "abcdef")
        #expect(!buffer.isReplayable)
    }

    @Test
    func `a second attempt reads the disk and then the rest of the client's body`()
        async throws
    {
        let directory = try TokenDirectory()
        let buffer = ReplayBuffer(
            PieceSource(["abc", "def", "ghi"]),
            length: nil,
            limit: 3,
            spill: BodySpill(directory: directory.path, limit: 9)
        )
        guard case .stream(let first, _) = buffer.body() else { return }
        _ = try await first.next()
        _ = try await first.next()
        #expect(try await text(buffer.body()) == "abcdefghi")
    }

    @Test func `a refused upload is sent again from disk`() async throws {
        let directory = try TokenDirectory()
        let harness = OAuthHarness()
        _ = try await harness.token()
        harness.server.revokeAccess()
        let chain = RequestChain(
            [
                ReauthorizationInterceptor(
                    authorizer: harness.manager,
                    replayLimit: 4,
                    spill: BodySpill(directory: directory.path, limit: 100)
                ),
                AuthorizationInterceptor(
                    authorizer: harness.manager,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: harness.api
        )
        var context = RequestContext()
        let response = try await chain.send(
            .upload(PieceSource(["one ", "two ", "three"])),
            context: &context
        )
        #expect(response.status == 200)
        #expect(harness.api.seen.map(\.body) == ["one two three", "one two three"])
    }
}

@Suite struct SpillFiles {
    @Test func `bytes are read at the offset at which they were written`() throws {
        let directory = try TokenDirectory()
        let file = try SpillFile(in: directory.path)
        try file.write(ByteSlice("hello"), at: 0)
        try file.write(ByteSlice("world"), at: 5)
        #expect(try file.read(6, at: 3) == Array("loworl".utf8))
        #expect(throws: FileError.self) { try file.read(1, at: 10) }
        #expect(try directory.names.isEmpty)
    }
}
