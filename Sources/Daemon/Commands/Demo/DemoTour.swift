import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
import OriginTransport

/// The scripted tour of `netproxy demo --once`.
///
/// Each step sends a request through the proxy and checks both ends.
package struct DemoTour: Sendable {
    private let demo: Demo
    private let proxy: Origin
    private let transport: PooledTransport
    private let say: @Sendable (String) -> Void

    /// The error of a step with an unexpected result.
    struct StepFailure: Error {
        let what: String
    }

    /// Prepares a tour of a running demo.
    ///
    /// - Parameters:
    ///   - demo: the running demo.
    ///   - address: the address of its proxy.
    ///   - say: prints a line.
    /// - Throws: an error, if no event loop can be made.
    package init(
        _ demo: Demo,
        at address: SocketAddress,
        say: @escaping @Sendable (String) -> Void
    ) throws {
        self.demo = demo
        self.say = say
        proxy = Origin(scheme: .http, host: "127.0.0.1", port: address.port)
        transport = try PooledTransport()
    }

    /// Runs all steps.
    ///
    /// - Returns: whether every step had the expected result.
    package func run() async -> Bool {
        let steps: [(name: String, body: @Sendable () async throws -> Void)] = [
            ("a plain request, without credentials", plain),
            ("default headers and a token are added", injected),
            ("a revoked token: 401, one refresh, and the upload is sent again", replayed),
            ("a refresh token that rotates: used, replaced, used again", rotated),
            ("an event stream arrives piece by piece", streamed),
            ("an unknown path is refused, and says why", refused),
        ]
        for step in steps {
            guard await take(step.name, step.body) else { return false }
        }
        return true
    }

    @Sendable
    private func plain() async throws {
        let (response, body) = try await send("/public/hello")
        try expect(response.status == 200, "status \(response.status)")
        try expect(body.contains(#""has_token":false"#), "a token was sent to a public API")
    }

    @Sendable
    private func injected() async throws {
        let (response, body) = try await send("/orders/42?x=1")
        try expect(response.status == 200, "status \(response.status)")
        try expect(body.contains(#""path":"/v1/42""#), "the path is wrong: \(body)")
        try expect(body.contains(#""has_token":true"#), "no token arrived")
        try expect(body.contains("netproxy-demo"), "the default header is missing")
        let requests = await demo.tokenRequests
        try expect(requests.count == 1, "not exactly one token request")
    }

    @Sendable
    private func replayed() async throws {
        await demo.revokeTokens()
        let upload = String(repeating: "x", count: 40_000)
        let (response, body) = try await send("/orders/import", method: .post, body: upload)
        try expect(response.status == 200, "status \(response.status)")
        try expect(body.contains(#""body_bytes":40000"#), "the body did not arrive whole")
        let (requests, arrived) = await (demo.tokenRequests, demo.upstreamLog.suffix(2))
        try expect(requests.count == 2, "not exactly one refresh")
        try expect(
            arrived == ["POST /v1/import 401", "POST /v1/import 200"],
            "the API saw something else"
        )
    }

    @Sendable
    private func rotated() async throws {
        _ = try await send("/profile/me")
        await demo.revokeTokens()
        let (response, _) = try await send("/profile/me")
        try expect(response.status == 200, "status \(response.status)")
        let requests = await demo.tokenRequests.suffix(2)
        try expect(
            requests == ["refresh_token", "refresh_token"],
            "the refresh token was not used twice"
        )
    }

    @Sendable
    private func streamed() async throws {
        let (response, body) = try await send("/orders/stream")
        try expect(response.status == 200, "status \(response.status)")
        try expect(body.contains("event 5 of 5"), "the stream is incomplete")
    }

    @Sendable
    private func refused() async throws {
        let (response, body) = try await send("/nowhere")
        try expect(response.status == 404, "status \(response.status)")
        try expect(body.contains("no_channel"), body)
    }

    private func take(
        _ name: String,
        _ body: () async throws -> Void
    ) async -> Bool {
        do {
            try await body()
            say("ok    \(name)")
            return true
        } catch let error as StepFailure {
            say("FAIL  \(name): \(error.what)")
        } catch {
            say("FAIL  \(name): \(error)")
        }
        return false
    }

    private func send(
        _ target: String,
        method: HTTPMethod = .get,
        body: String? = nil
    ) async throws -> (Response, String) {
        let request = Request(
            method: method,
            origin: proxy,
            target: target,
            body: body.map { .bytes(ByteSlice($0)) } ?? .empty
        )
        var context = RequestContext(deadline: .now + .seconds(20))
        let response = try await transport.send(request, context: &context)
        let text = try await response.body.collect(upTo: 1 << 20)
        return (response, String(decoding: text.array, as: UTF8.self))
    }

    private func expect(_ condition: Bool, _ what: String) throws {
        guard condition else { throw StepFailure(what: what) }
    }
}
