import NetworkClient
import OriginTransport
import TestSupport
import Testing

/// Tests of content from asynchronous sequences.
@Suite struct SequenceBodyTests {
    private func body(_ pieces: [[UInt8]]) -> SequenceBody<AsyncStream<[UInt8]>> {
        SequenceBody(
            AsyncStream { feed in
                for piece in pieces { feed.yield(piece) }
                feed.finish()
            }
        )
    }

    @Test func `the pieces arrive in order, without empty ones`() async throws {
        let body = body([[1], [], [2, 3]])
        #expect(try await body.next()?.array == [1])
        #expect(try await body.next()?.array == [2, 3])
        #expect(try await body.next() == nil)
        #expect(try await body.next() == nil)
    }

    @Test func `an upload sends the elements of the sequence`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.body) }
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: try PooledTransport()))
        let endpoint = PathEndpoint(
            "/import",
            of: "http://127.0.0.1:\(origin.port)",
            method: .post,
            task: .stream(
                body([Array("one, ".utf8), Array("two".utf8)]),
                contentType: "text/plain"
            )
        )
        #expect(try await manager.response(for: endpoint).text == "one, two")
        #expect(origin.requests.first?["Transfer-Encoding"] == "chunked")
    }

    @Test func `short content of a known length is read into memory`() async throws {
        let body = try await HTTPBody.sequence(Self.pieces([[1], [2, 3]]), length: 3)
        #expect(body.isInMemory && body.length == 3)
        let error = await #expect(throws: NetworkError.self) {
            try await HTTPBody.sequence(Self.pieces([[1], [2, 3]]), length: 4)
        }
        #expect(error?.detail == "the content has 3 bytes instead of 4")
        let unknown = try await HTTPBody.sequence(Self.pieces([[1]]))
        #expect(!unknown.isInMemory && unknown.length == nil)
    }

    private static func pieces(_ pieces: [[UInt8]]) -> AsyncStream<[UInt8]> {
        AsyncStream { feed in
            for piece in pieces { feed.yield(piece) }
            feed.finish()
        }
    }

    @Test func `a canceled sequence throws on every further read`()
        async throws
    {
        let (pieces, feed) = AsyncStream<[UInt8]>.makeStream()
        let body = SequenceBody(pieces)
        let reading = Task { try await body.next() }
        reading.cancel()
        await #expect(throws: NetworkError.self) { try await reading.value }
        feed.finish()
        await #expect(throws: NetworkError.self) { try await body.next() }
    }

    @Test func `a sequence that fails by cancellation is not read again`() async throws {
        let pieces = AsyncThrowingStream<[UInt8], any Error> { throw CancellationError() }
        let body = SequenceBody(pieces)
        for _ in 1...2 {
            let error = await #expect(throws: NetworkError.self) { try await body.next() }
            #expect(error?.kind == .cancelled)
        }
    }
}
