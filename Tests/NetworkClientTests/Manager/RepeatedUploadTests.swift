import Foundation
import NetworkClient
import NetworkTesting
import OAuth
import Synchronization
import TestSupport
import Testing

/// Retries all outcomes but success.
private struct Repeating: RequestRetrier {
    func decide(
        on request: Request,
        after outcome: AttemptOutcome,
        attempts: Int
    ) async -> RetryDecision {
        if case .response(let status, _) = outcome, status.kind == .successful {
            return .doNotRetry
        }
        return .retry
    }
}

/// Reads the content, like an attempt that receives a 401, and then fails to connect.
private struct Spending: RequestInterceptor {
    let calls = Counter()

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        calls.add(1)
        _ = try await request.body.collect(upTo: 1000)
        throw NetworkError(.connectionRefused, side: .upstream, retry: .safe, detail: "refused")
    }
}

/// Tests of repeated uploads.
@Suite struct RepeatedUploadTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example", method: .put)

    @Test func `a retrier does not send content read by an inner attempt`() async throws {
        let spending = Spending()
        let manager = NetworkManager<PathEndpoint>(
            .stubbed(
                StubTransport { _ in .status(200) },
                interceptors: [RetryingInterceptor(Repeating()), spending]
            )
        )
        let error = await #expect(throws: NetworkError.self) {
            try await manager.upload(
                endpoint,
                .stream(PiecedBody(["ab"]), contentType: "text/plain")
            )
        }
        #expect(error?.kind == .connectionRefused)
        #expect(spending.calls.value == 1)
    }

    @Test func `each attempt of a retrier is recorded`() async throws {
        let stub = StubTransport()
        stub.answer(.put, "/x", with: .status(429), .status(200))
        let manager = NetworkManager<PathEndpoint>(
            .stubbed(stub, interceptors: [RetryingInterceptor(Repeating())])
        )
        let context = try await manager.response(for: endpoint).context
        #expect(context.retries == [.status(429)])
        #expect(context.earlierAttempts.map(\.status) == [429])
    }

    @Test func `a streamed upload is sent unsigned if no one is signed in`() async throws {
        let stub = StubTransport { _ in .status(200) }
        let oauth = OAuthManager(
            service: TokenEndpointClient(transport: stub),
            tokenStore: MemoryTokenStore(),
            configuration: OAuthConfiguration(
                tokenEndpoint: .init(
                    origin: Origin(scheme: .https, host: "login.example"),
                    target: "/token"
                ),
                clientID: "app",
                grant: .refreshToken(initial: nil)
            )
        )
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub, authorizer: oauth))
        _ = try await manager.upload(
            endpoint,
            .stream(PiecedBody(["ab", "c"]), contentType: "text/plain")
        )
        #expect(stub.requests.map(\.text) == ["abc"])
        #expect(stub.requests.first?.authorization == nil)
    }

    @Test func `content with progress can be sent again`() async throws {
        let stub = StubTransport()
        stub.answer(.put, "/x", with: .status(503), .status(200))
        let seen = Mutex<[Int]>([])
        let options = CallOptions(progress: { progress in
            seen.withLock { $0.append(progress.transferred) }
        })
        let content = Data(repeating: 1, count: 70_000)
        let response = try await NetworkManager<PathEndpoint>(.stubbed(stub))
            .upload(endpoint, .data(content, contentType: "image/png"), options: options)
        #expect(response.context.retries == [.status(503)])
        #expect(stub.requests.map(\.content.count) == [70_000, 70_000])
        #expect(seen.withLock { $0 } == [65_536, 70_000, 65_536, 70_000])
    }

    @Test func `the progress of a request built by hand is reported`() async throws {
        let stub = StubTransport { _ in .status(200) }
        let seen = Mutex<[Int]>([])
        let options = CallOptions(progress: { progress in
            seen.withLock { $0.append(progress.transferred) }
        })
        _ = try await NetworkManager<PathEndpoint>(.stubbed(stub))
            .perform(RequestBuilder("https://a.example").json([1]), options: options)
        #expect(seen.withLock { $0 } == [3])
    }
}
