import Foundation
import NetworkTesting
import Synchronization
import TYCoreAPI
import Testing

/// The operations of a feature, with the types that the document declares.
private enum ShopItem: Endpoint {
    case search(String)
    case add(Int)
    case signed
    case elsewhere
    case spelledOut
    case misspelled

    var baseUrl: String { self == .elsewhere ? "https://other.test" : "https://shop.test/v1" }
    var path: String {
        switch self {
        case .search: "/items?page=1"
        case .add, .signed, .elsewhere, .spelledOut, .misspelled: "/items"
        }
    }
    var method: HTTPMethod { if case .add = self { .post } else { .get } }
    var params: [String: Any]? {
        switch self {
        case .search(let word): ["q": word]
        case .add(let count): ["count": count, "tags": ["a", "b"]]
        case .signed, .elsewhere, .spelledOut, .misspelled: nil
        }
    }
    var headers: [String: String] { self == .signed ? ["X-Api-Key": "k", "X-Version": "2"] : [:] }
    var url: String {
        switch self {
        case .spelledOut: "https://shop.test/v2/items"
        case .misspelled: "https://shop.test/v2/things"
        case .search, .add, .signed, .elsewhere: "\(baseUrl)\(path)"
        }
    }
}

extension ShopItem: Equatable {}

private struct DefaultHeaders: RequestInterceptor {
    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        try request.headers.set("X-Channel", "shop")
        return try await next.send(request, context: &context)
    }
}

@Suite struct TYCoreAPITests {
    private let stub = StubTransport { _ in .json("[1]") }

    private func manager() -> NetworkManager<ShopItem> {
        NetworkManager(
            sessionManager: stub,
            isSSLPinningActive: false,
            host: "shop.test",
            networkLogger: CoreNetworkLogger(subsystem: "shop", category: "network"),
            interceptor: DefaultHeaders()
        )
    }

    private func outcome(of item: ShopItem) async -> Result<[Int], APIClientError> {
        let manager = manager()
        let result = await withCheckedContinuation { continuation in
            manager.request(endpoint: item, type: [Int].self) { continuation.resume(returning: $0) }
        }
        // A completion is dropped with its manager.
        return withExtendedLifetime(manager) { result }
    }

    @Test func `parameters of a GET are in the query`() async throws {
        #expect(try await outcome(of: .search("a b")).get() == [1])
        #expect(stub.requests.map(\.request.target) == ["/v1/items?page=1&q=a%20b"])
        #expect(ShopItem.search("").method.encoding == .url)
    }

    @Test func `parameters of a POST are a JSON body`() async throws {
        _ = try await outcome(of: .add(2)).get()
        let request = try #require(stub.requests.first)
        #expect(request.request.headers[.contentType] == "application/json")
        struct Sent: Decodable, Equatable { var count: Int, tags: [String] }
        let sent = try JSONDecoder().decode(Sent.self, from: Data(request.text.utf8))
        #expect(sent == Sent(count: 2, tags: ["a", "b"]))
        #expect(ShopItem.add(2).method.encoding == .json)
    }

    @Test func `the fields of a dictionary are sent, and so are those of the interceptor`()
        async throws
    {
        _ = try await outcome(of: .signed).get()
        let fields = try #require(stub.requests.first).request.headers
        #expect(fields["X-Api-Key"] == "k")
        #expect(fields["X-Version"] == "2")
        #expect(fields["X-Channel"] == "shop")
    }

    @Test func `an endpoint's own URL replaces the base URL`() async throws {
        _ = try await outcome(of: .spelledOut).get()
        #expect(stub.requests.map(\.request.target) == ["/v2/items"])
    }

    @Test func `a URL that does not end with the path is an error with the URL`() async {
        let error = await #expect(throws: APIClientError.self) {
            try await outcome(of: .misspelled).get()
        }
        #expect(error?.kind == .httpRequestError)
        #expect(error?.detail.contains("https://shop.test/v2/things") == true)
    }

    @Test func `a request to another host is refused`() async {
        let error = await #expect(throws: APIClientError.self) {
            try await outcome(of: .elsewhere).get()
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [StubAnswer.status(404), .status(200)])
    func `an error status and missing content are failures`(_ answer: StubAnswer) async {
        stub.answer(.get, "/v1/items", with: answer)
        let error = await #expect(throws: APIClientError.self) {
            try await outcome(of: .signed).get()
        }
        #expect(error?.kind == .unacceptableResponse || error?.kind == .undecodableResponse)
    }

    @Test func `the description of an endpoint contains no parameter values`() {
        let text = "\(ShopItem.search("secret"))"
        #expect(text.contains("/v1/items"))
        #expect(!text.contains("secret"))
    }

    @Test func `a completion is dropped if its manager no longer exists`() async {
        final class End: Sendable {
            let continuation: CheckedContinuation<Void, Never>
            init(_ continuation: CheckedContinuation<Void, Never>) {
                self.continuation = continuation
            }
            deinit { continuation.resume() }
        }
        let clock = ManualClock()
        let slow = StubTransport(clock: clock) { _ in .delayed(.seconds(1), .json("[1]")) }
        let called = Mutex(false)
        await withCheckedContinuation { continuation in
            let end = End(continuation)
            let manager = NetworkManager<ShopItem>(
                sessionManager: slow,
                host: "shop.test",
                networkLogger: CoreNetworkLogger(subsystem: "shop", category: "network")
            )
            manager.request(endpoint: .signed, type: [Int].self) { _ in
                withExtendedLifetime(end) { called.withLock { $0 = true } }
            }
            Task {
                await clock.untilSomebodySleeps()
                clock.advance(by: .seconds(1))
            }
        }
        #expect(called.withLock { $0 } == false)
    }

    @Test func `an invalid pin fails each request`() async {
        let manager = NetworkManager<ShopItem>(
            pins: ["sha256/short"],
            host: "shop.test",
            networkLogger: CoreNetworkLogger(subsystem: "shop", category: "network")
        )
        let error = await #expect(throws: APIClientError.self) {
            try await manager.request(.signed, as: [Int].self)
        }
        #expect(error?.detail.contains("pins") == true)
    }
}

/// An interactor as in the document, in a module without default isolation.
private class ShopInteractor: Networker, @unchecked Sendable {
    typealias EndpointType = ShopItem
    var networkManager: NetworkManager<ShopItem>
    let (ids, continuation) = AsyncStream.makeStream(of: [Int].self)

    init(_ transport: any HTTPTransport) {
        networkManager = NetworkManager(
            sessionManager: transport,
            host: "shop.test",
            networkLogger: CoreNetworkLogger(subsystem: "shop", category: "network")
        )
    }

    func fetch() {
        networkManager.request(endpoint: .signed, type: [Int].self) { [weak self] result in
            self?.continuation.yield((try? result.get()) ?? [])
            self?.continuation.finish()
        }
    }
}

extension TYCoreAPITests {
    @Test func `a completion may use a weak interactor that is Sendable`() async {
        let interactor = ShopInteractor(stub)
        interactor.fetch()
        var found: [[Int]] = []
        for await ids in interactor.ids { found.append(ids) }
        #expect(found == [[1]])
    }
}
