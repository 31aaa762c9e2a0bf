import NetworkCore
import OriginTransport
import TestSupport
import Testing

/// Tests of requests that a transport refuses before it opens a connection.
@Suite struct UnsentRequestTests {
    /// Returns the error of a request, and checks that the origin saw no connection.
    private func fault(
        _ method: HTTPMethod,
        until deadline: ContinuousClock.Instant? = nil
    ) async throws -> NetworkError? {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let request = Request(
            method: method,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        var context = RequestContext(deadline: deadline)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, context: &context)
        }
        #expect(origin.connections.isEmpty)
        return error
    }

    @Test func `a request past its deadline is not sent`() async throws {
        #expect(try await fault(.post, until: .now)?.kind == .httpResponseTimeout)
    }

    @Test func `CONNECT is refused without a connection`() async throws {
        #expect(try await fault(.connect)?.kind == .httpRequestError)
    }
}
