import NetworkCore
import OriginTransport
import TestSupport
import Testing

/// Requests that a transport refuses before it opens a connection.
@Suite struct UnsentRequestTests {
    /// The fault of a request for which no origin has seen a connection.
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

    @Test func `a request whose time is over is not sent`() async throws {
        #expect(try await fault(.post, until: .now)?.kind == .httpResponseTimeout)
    }

    @Test func `a connection is made into no tunnel by CONNECT`() async throws {
        #expect(try await fault(.connect)?.kind == .httpRequestError)
    }
}
