import NetworkCore
import NetworkTesting
import TestSupport
import Testing

@testable import NetproxyChannels

@Suite struct RenewedTransportTests {
    /// A transport that fails.
    private struct Broken: HTTPTransport {
        func send(_: Request, context: inout RequestContext) async throws -> Response {
            throw NetworkError(.tlsCertificateError, side: .upstream, detail: "expired")
        }
    }

    @Test func `replaced files are used after the next error`() async throws {
        let directory = try TokenDirectory()
        try directory.write("old", to: "client.pem")
        let makings = Counter()
        let transport = try RenewedTransport(of: ["\(directory.path)/client.pem"]) {
            _ = makings.next()
            return Broken()
        }
        func send() async {
            var context = RequestContext()
            let request = Request(origin: Origin(scheme: .https, host: "e.example"), target: "/")
            await #expect(throws: NetworkError.self) {
                try await transport.send(request, context: &context)
            }
        }
        await send()
        #expect(makings.current == 1)
        try directory.write("new", to: "client.pem")
        await send()
        #expect(makings.current == 2)
        await send()
        #expect(makings.current == 2)
    }
}
