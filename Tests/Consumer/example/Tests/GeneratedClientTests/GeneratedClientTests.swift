import Foundation
import HTTPTypes
import NetworkClient
import NetworkTesting
import OpenAPIRuntime
import Synchronization
import Testing

@testable import BlocksGeneratedClients

/// The code of the documentation, with requests as a generated client makes them.
@Suite struct GeneratedClientTests {
    /// The ways to send a request.
    enum Way: CaseIterable {
        /// A `ClientTransport` over a channel.
        case transport
        /// A `ClientMiddleware` in front of another transport.
        case middleware
    }

    /// The content of a request.
    enum Content: CaseIterable {
        case short, long

        var bytes: [UInt8] { Array(repeating: 97, count: self == .short ? 10 : 200_000) }
    }

    /// Returns an old token until it was refused.
    private final class Session: HeaderAuthorizing {
        let isSignedIn = true
        private let tokens = Mutex(["old", "new"])
        func authorize() async throws -> HTTPHeaders {
            let token = tokens.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return ["Authorization": "Bearer \(token)"]
        }
    }

    private let stub = StubTransport { asked in
        if asked.authorization == "Bearer old" { return .status(401) }
        return .data(Data(asked.text.utf8.prefix(10)), headers: [.contentType: "text/plain"])
    }

    /// Sends a request, and returns the status and the content of the response.
    private func send(
        _ way: Way,
        _ body: OpenAPIRuntime.HTTPBody?,
        method: HTTPRequest.Method = .post,
        path: String = "/a%2Fb?q=1",
        base: String = "https://api.test/v1"
    ) async throws -> (HTTPResponse, [UInt8]) {
        var channel = NetworkChannel(transport: stub, host: "api.test")
        channel.authorizer = HeaderAuthorizer(Session())
        channel.retry?.base = .zero
        var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
        request.headerFields[.contentType] = "application/json"
        let url = try #require(URL(string: base))
        let (head, content): (HTTPResponse, OpenAPIRuntime.HTTPBody?)
        switch way {
        case .transport:
            (head, content) = try await ChannelTransport(channel)
                .send(request, body: body, baseURL: url, operationID: "op")
        case .middleware:
            let other = ChannelTransport(NetworkChannel(transport: stub))
            (head, content) = try await ChannelMiddleware(channel: channel).intercept(
                request,
                body: body,
                baseURL: url,
                operationID: "op"
            ) { try await other.send($0, body: $1, baseURL: $2, operationID: "op") }
        }
        guard let content else { return (head, []) }
        return (head, try await [UInt8](collecting: content, upTo: .max))
    }

    /// Content that can be iterated as often as a generated client says.
    private func body(
        _ content: Content,
        _ behavior: OpenAPIRuntime.IterationBehavior = .multiple,
        _ length: OpenAPIRuntime.HTTPBody.Length? = nil
    ) -> OpenAPIRuntime.HTTPBody {
        let bytes = content.bytes
        return OpenAPIRuntime.HTTPBody(
            Chunks(bytes: bytes),
            length: length ?? .known(Int64(bytes.count)),
            iterationBehavior: behavior
        )
    }

    @Test(arguments: Way.allCases, Content.allCases)
    func `a refused token is renewed, and the same content sent again`(way: Way, content: Content)
        async throws
    {
        let (head, text) = try await send(way, body(content))
        #expect(head.status == .ok && text == Array(repeating: 97, count: 10))
        let count = content.bytes.count
        #expect(stub.requests.map(\.content.count) == [count, count])
        #expect(stub.requests.map(\.authorization) == ["Bearer old", "Bearer new"])
        for sent in stub.requests {
            #expect(sent.request.body.length == content.bytes.count)
            #expect(sent.request.headers[.contentType] == "application/json")
            #expect(sent.request.target == "/v1/a%2Fb?q=1")
        }
    }

    @Test(arguments: Way.allCases, Content.allCases)
    func `an idempotent request is sent again after a 503`(way: Way, content: Content)
        async throws
    {
        stub.answer(.put, "/v1/*", with: .status(503), .status(204))
        let (head, _) = try await send(way, body(content), method: .put)
        #expect(head.status == .noContent)
        let count = content.bytes.count
        #expect(stub.requests.map(\.content.count) == [count, count])
    }

    @Test(arguments: Way.allCases)
    func `long content that can be read once is not sent again`(way: Way) async throws {
        let (head, _) = try await send(way, body(.long, .single))
        #expect(head.status == .unauthorized)
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: Way.allCases)
    func `short content of unknown length is kept for another attempt`(way: Way) async throws {
        let (head, _) = try await send(way, body(.short, .single, .unknown))
        #expect(head.status == .ok)
        #expect(stub.requests.map(\.content.count) == [10, 10])
    }

    @Test(arguments: ["https://api.test/v1/", "https://api.test/v1"])
    func `the path is below the base URL`(base: String) async throws {
        _ = try await send(.transport, nil, method: .get, path: "/x", base: base)
        #expect(stub.requests.last?.request.target == "/v1/x")
    }

    @Test(arguments: Way.allCases)
    func `an error status is a response with its content`(way: Way) async throws {
        stub.answer(.get, "/v1/*", with: .json(#"{"a":1}"#, status: 404))
        let (head, text) = try await send(way, nil, method: .get)
        #expect(head.status == .notFound)
        #expect(String(decoding: text, as: UTF8.self) == #"{"a":1}"#)
    }

    @Test(arguments: Way.allCases)
    func `content of another length than announced is an error`(way: Way) async {
        let error = await #expect(throws: NetworkError.self) {
            try await send(way, body(.short, .multiple, .known(11)))
        }
        #expect(error?.kind == .httpRequestError)
        #expect(stub.requests.isEmpty)
    }

    @Test func `a canceled call ends while its content is produced`() async {
        let endless = AsyncStream<OpenAPIRuntime.HTTPBody.ByteChunk> { _ in }
        let call = Task {
            try await send(.transport, OpenAPIRuntime.HTTPBody(endless, length: .known(100_000)))
        }
        call.cancel()
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
    }
}

/// Bytes in chunks, with a new iterator for each reader.
private struct Chunks: AsyncSequence, Sendable {
    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>

        mutating func next() async -> ArraySlice<UInt8>? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(50_000) }
            return rest.prefix(50_000)
        }
    }

    let bytes: [UInt8]
    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...]) }
}
