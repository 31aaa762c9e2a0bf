import NetproxyEventIO
import NetworkCore
import TestSupport
import Testing

@Suite struct ReplayBufferTests {
    private func text(_ body: HTTPBody) async throws -> String {
        String(decoding: try await body.collect(upTo: 1 << 20).array, as: UTF8.self)
    }

    private func source(_ body: HTTPBody) throws -> any BodySource {
        guard case .stream(let source, _) = body else {
            throw NetworkError(.internalError, side: .proxy, detail: "no stream")
        }
        return source
    }

    @Test(arguments: [nil, 2])
    func `a body within the limit can be sent any number of times`(length: Int?) async throws {
        let buffer = ReplayBuffer(PieceSource(["a", "b"]), length: length, limit: 2)
        for _ in 0..<3 { #expect(try await text(buffer.body()) == "ab") }
        #expect(buffer.isReplayable)
    }

    @Test func `a body above the limit is sent once, complete`() async throws {
        let buffer = ReplayBuffer(PieceSource(["abc", "def", "ghi"]), length: nil, limit: 5)
        #expect(try await text(buffer.body()) == "abcdefghi")
        #expect(!buffer.isReplayable)
        await #expect(throws: NetworkError.self) { try await text(buffer.body()) }
    }

    @Test func `a body with a length above the limit is not recorded`() async throws {
        let buffer = ReplayBuffer(PieceSource(["abc"]), length: 3, limit: 2)
        // Before the first read, it can still be sent from its start.
        #expect(buffer.isReplayable)
        #expect(try await text(buffer.body()) == "abc")
        #expect(!buffer.isReplayable)
        #expect(buffer.replay() == nil)
    }

    @Test func `the second body continues from the position of the first`() async throws {
        let pieces = PieceSource(["a", "b", "c"])
        let buffer = ReplayBuffer(pieces, length: nil, limit: 10)
        let first = try source(buffer.body())
        #expect(try await first.next() == ByteSlice("a"))
        first.cancel()
        #expect(!pieces.isCancelled)
        #expect(try await text(buffer.body()) == "abc")
    }

    // Also above the limit: the piece has already been read from the source.
    @Test(arguments: [(["a", "b", "c"], 10), (["abc"], 2)])
    func `a piece in flight goes to the second body`(
        texts: [String],
        limit: Int
    ) async throws {
        let pieces = PieceSource(texts)
        let buffer = ReplayBuffer(pieces, length: nil, limit: limit)
        let first = try source(buffer.body())
        pieces.gate.close()
        let late = Task { try await first.next() }
        #expect(await eventually { pieces.gate.waiting == 1 })
        let second = buffer.body()
        async let all = text(second)
        pieces.gate.open()
        #expect(try await all == "abc")
        // The second body received the piece.
        await #expect(throws: NetworkError.self) { _ = try await late.value }
    }

    @Test func `three bodies that wait for one piece all continue, and block no thread`()
        async throws
    {
        let pieces = PieceSource(["a"])
        let buffer = ReplayBuffer(pieces, length: nil, limit: 10)
        let loop = try EventLoop(index: 96)
        try loop.start()
        defer { loop.stop() }
        pieces.gate.close()
        defer { pieces.gate.open() }
        let first = try source(buffer.body())
        var readers = [Task { try await first.next() }]
        #expect(await eventually { pieces.gate.waiting == 1 })
        for _ in 1...2 {
            let body = try source(buffer.body())
            readers.append(Task(executorPreference: loop) { try await body.next() })
            // The next job of the loop, which runs once the body waits.
            let isWaiting = Gate()
            Task(executorPreference: loop) { isWaiting.open() }
            try await isWaiting.wait()
        }
        pieces.gate.open()
        #expect(try await readers[2].value == ByteSlice("a"))
        for reader in readers[..<2] {
            await #expect(throws: NetworkError.self) { _ = try await reader.value }
        }
    }

    @Test func `a source that ends because of cancellation is not replayable`()
        async throws
    {
        let (pieces, feed) = AsyncStream<ByteSlice>.makeStream()
        let buffer = ReplayBuffer(StreamedPieces(pieces), length: nil, limit: 10)
        feed.yield(ByteSlice("a"))
        let first = try source(buffer.body())
        #expect(try await first.next() == ByteSlice("a"))
        let reading = Task { try await first.next() }
        reading.cancel()
        await #expect(throws: NetworkError.self) { try await reading.value }
        #expect(!buffer.isReplayable)
        #expect(buffer.replay() == nil)
    }

    @Test func `an earlier body throws on the next read`() async throws {
        let buffer = ReplayBuffer(PieceSource(["a"]), length: nil, limit: 10)
        let first = try source(buffer.body())
        _ = buffer.body()
        await #expect(throws: NetworkError.self) { try await first.next() }
    }

    @Test func `after the release, canceling the body cancels the source`() async throws {
        let pieces = PieceSource(["a", "b"])
        let buffer = ReplayBuffer(pieces, length: nil, limit: 10)
        let body = try source(buffer.body())
        _ = try await body.next()
        buffer.release()
        #expect(!pieces.isCancelled)
        #expect(try await body.next() == ByteSlice("b"))
        body.cancel()
        #expect(pieces.isCancelled)
    }

    /// The size of a body of three pieces relative to the limit.
    enum Size: CaseIterable {
        case fits, growsTooLong, isTooLong

        var buffered: (PieceSource, ReplayBuffer) {
            let source = PieceSource(["ab", "cd", "ef"])
            let length = self == .isTooLong ? 6 : nil
            let limit = self == .fits ? 6 : 2
            return (source, ReplayBuffer(source, length: length, limit: limit))
        }
    }

    // The fourth read returns the end.
    @Test(
        arguments: [
            (.fits, [true, true, true, true, true]),
            (.growsTooLong, [true, true, false, false, false]),
            (.isTooLong, [true, false, false, false, false]),
        ] as [(Size, [Bool])]
    )
    func `a body can be sent again while everything read from it is kept`(
        size: Size,
        isReplayable: [Bool]
    ) async throws {
        for reads in isReplayable.indices {
            let (_, buffer) = size.buffered
            let body = try source(buffer.body())
            for _ in 0..<reads { _ = try await body.next() }
            #expect(buffer.isReplayable == isReplayable[reads], "\(reads) reads")
            buffer.release()
            #expect(buffer.isReplayable == (reads == 0), "\(reads) reads, released")
        }
    }

    @Test(
        arguments: [
            (.fits, [false, false, false, false, false]),
            (.growsTooLong, [false, false, true, true, false]),
            (.isTooLong, [false, true, true, true, false]),
        ] as [(Size, [Bool])]
    )
    func `canceling a body cancels the source if no other body can need the rest`(
        size: Size,
        isCancelled: [Bool]
    ) async throws {
        for reads in isCancelled.indices {
            for isReleasedBefore in [true, false] {
                let (pieces, buffer) = size.buffered
                let body = try source(buffer.body())
                for _ in 0..<reads { _ = try await body.next() }
                if isReleasedBefore { buffer.release() }
                body.cancel()
                let isUnwanted = isReleasedBefore ? reads < 4 : isCancelled[reads]
                #expect(pieces.isCancelled == isUnwanted, "\(reads) reads")
                buffer.release()
                #expect(pieces.isCancelled == (reads < 4), "\(reads) reads, released")
            }
        }
    }

    @Test func `a second body is read to its end after the release`() async throws {
        let buffer = ReplayBuffer(PieceSource(["ab", "cd", "ef"]), length: nil, limit: 6)
        let first = try source(buffer.body())
        for _ in 0..<2 { _ = try await first.next() }
        let second = buffer.body()
        buffer.release()
        #expect(!buffer.isReplayable)
        #expect(try await text(second) == "abcdef")
    }
}

/// Pieces of an `AsyncStream`, which ends if the reading task is canceled.
private final class StreamedPieces: BodySource {
    private let pieces: AsyncStream<ByteSlice>

    init(_ pieces: AsyncStream<ByteSlice>) {
        self.pieces = pieces
    }

    func next() async throws -> ByteSlice? {
        for await piece in pieces { return piece }
        return nil
    }
}
