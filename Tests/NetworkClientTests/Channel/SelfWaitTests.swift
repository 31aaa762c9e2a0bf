import NetworkClient
import NetworkTesting
import Synchronization
import Testing

/// Tests of credentials whose source needs the credential itself.
@Suite struct SelfWaitTests {
    /// Gets its field by a call over a channel that is set later.
    private final class Source: HeaderAuthorizing {
        let isSignedIn = true
        let channel = Mutex<NetworkChannel?>(nil)

        func authorize() async throws -> HTTPHeaders {
            guard let channel = channel.withLock({ $0 }) else {
                return [.authorization: "Bearer a"]
            }
            try await NetworkManager<PathEndpoint>(channel).send(SelfWaitTests.endpoint)
            return [.authorization: "Bearer b"]
        }
    }

    private static let endpoint = PathEndpoint("/", of: "https://a.test", authorization: .required)
    private let stub = StubTransport { _ in .status(200) }

    private func channel(_ source: Source) -> NetworkChannel {
        .stubbed(stub, authorizer: HeaderAuthorizer(source))
    }

    private func outcome(over channel: NetworkChannel) async -> NetworkError? {
        await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(Self.endpoint)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a credential that needs itself is an error at once`() async {
        let source = Source()
        source.channel.withLock { $0 = channel(source) }
        let error = await outcome(over: channel(source))
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.detail.contains("waits for that credential") == true)
        #expect(stub.requests.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `two credentials that need each other are an error at once`() async {
        let (first, second) = (Source(), Source())
        first.channel.withLock { $0 = channel(second) }
        second.channel.withLock { $0 = channel(first) }
        let error = await outcome(over: channel(first))
        #expect(error?.detail.contains("waits for that credential") == true)
    }

    @Test func `a credential may need another one`() async throws {
        let (first, second) = (Source(), Source())
        first.channel.withLock { $0 = channel(second) }
        try await NetworkManager<PathEndpoint>(channel(first)).send(Self.endpoint)
        #expect(stub.requests.map(\.authorization) == ["Bearer a", "Bearer b"])
    }
}
