import NetworkCore
import OriginTransport
import TestSupport
import Testing

/// Content from asynchronous sequences.
@Suite struct SequenceBodyTests {
    private func body(_ pieces: [[UInt8]]) -> SequenceBody<AsyncStream<[UInt8]>> {
        SequenceBody(
            AsyncStream { feed in
                for piece in pieces { feed.yield(piece) }
                feed.finish()
            }
        )
    }

    @Test func `the pieces arrive in their order, and empty ones are none`() async throws {
        let body = body([[1], [], [2, 3]])
        #expect(try await body.next()?.array == [1])
        #expect(try await body.next()?.array == [2, 3])
        #expect(try await body.next() == nil)
        #expect(try await body.next() == nil)
    }

    @Test func `an upload is what the sequence brings`() async throws {
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

    @Test func `an upload whose task is called off is not sent as complete`() async throws {
        let (pieces, feed) = AsyncStream<[UInt8]>.makeStream()
        feed.yield([1])
        let body = HTTPBody.stream(SequenceBody(pieces), length: nil)
        let collecting = Task { try await body.collect(upTo: 10) }
        collecting.cancel()
        await #expect(throws: NetworkError.self) { try await collecting.value }
    }
}
