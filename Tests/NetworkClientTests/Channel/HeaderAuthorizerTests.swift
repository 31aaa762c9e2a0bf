import NetworkClient
import NetworkTesting
import Synchronization
import Testing

/// Tests of the authorizer with two members.
@Suite struct HeaderAuthorizerTests {
    private final class Session: HeaderAuthorizing {
        let isSignedIn: Bool
        private let tokens: Mutex<[HTTPHeaders]>

        init(isSignedIn: Bool = true, _ tokens: [HTTPHeaders]) {
            self.isSignedIn = isSignedIn
            self.tokens = Mutex(tokens)
        }

        func authorize() async throws -> HTTPHeaders {
            tokens.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    private func answers(_ session: Session, _ fieldName: HTTPFieldName = .authorization)
        async throws -> [String]
    {
        let stub = StubTransport { asked in
            .status(asked.request.headers[fieldName]?.contains("old") == true ? 401 : 200)
        }
        var channel = NetworkChannel(transport: stub, host: "a.test")
        channel.authorizer = HeaderAuthorizer(session, fieldName: fieldName)
        let endpoint = PathEndpoint("/", of: "https://a.test", authorization: .required)
        _ = try await NetworkManager<PathEndpoint>(channel).response(for: endpoint)
        return stub.requests.map { $0.request.headers[fieldName] ?? "none" }
    }

    @Test func `each request is signed with the fields of the session`() async throws {
        let session = Session([["Authorization": "Bearer a"]])
        #expect(try await answers(session) == ["Bearer a"])
        let key = Session([["X-Key": "k"]])
        #expect(try await answers(key, "X-Key") == ["k"])
    }

    @Test func `a 401 requests new fields from the session once`() async throws {
        let session = Session([["Authorization": "Bearer old"], ["Authorization": "Bearer new"]])
        #expect(try await answers(session) == ["Bearer old", "Bearer new"])
        let stale = Session([["Authorization": "Bearer old"]])
        let error = await #expect(throws: NetworkError.self) { try await answers(stale) }
        #expect(error?.status == 401)
    }

    @Test(
        arguments: [
            ["A": "1"], [:], ["Authorization": "a", "X": "b"], ["Authorization": "a\r\nb"],
        ] as [HTTPHeaders]
    )
    func `a session must return exactly its field`(fields: HTTPHeaders) async {
        let session = Session([fields])
        let error = await #expect(throws: NetworkError.self) { try await answers(session) }
        #expect(error?.kind == .credentialUnavailable)
    }

    @Test func `nothing is sent if no user is signed in`() async {
        let session = Session(isSignedIn: false, [["Authorization": "a"]])
        let error = await #expect(throws: NetworkError.self) { try await answers(session) }
        #expect(error?.kind == .reauthorizationRequired)
    }
}
