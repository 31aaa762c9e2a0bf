import NetworkCore
import OriginTransport
import TestSupport
import Testing

/// Requests that a transport refuses before it opens a connection.
@Suite struct UnsentRequestTests {
    @Test func `a request whose time is over is not sent`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let request = Request(
            method: .post,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        var context = RequestContext(deadline: .now)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, context: &context)
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(origin.connections.isEmpty)
    }

    @Test func `a connection is made into no tunnel by CONNECT`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let request = Request(
            method: .connect,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        var context = RequestContext()
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, context: &context)
        }
        #expect(error?.kind == .httpRequestError)
        #expect(origin.connections.isEmpty)
    }
}
