import Foundation
import NetLord
import NetworkTesting
import Synchronization
import Testing

/// A service that issues numbered tokens.
private struct Service: TokenRetrieving, SignInRequestProvider {
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        TokenResponse(accessToken: Secret("from-service"))
    }
}

/// A store with the three methods of the document.
private actor Keychain: TokenStoring {
    private(set) var tokens: Data?
    func store(_ tokens: Data) { self.tokens = tokens }
    func get() -> Data? { tokens }
    func remove() { tokens = nil }
}

/// An authorizer with the two members of the document.
private final class OwnAuthorizer: Authorizing {
    let isSignedIn = true
    let journal: Journal

    init(_ journal: Journal) { self.journal = journal }

    func authorize() async throws -> HTTPHeaders {
        journal.note("authorize")
        return ["Authorization": "Bearer own"]
    }
}

/// The order of calls.
private final class Journal: Sendable {
    private let entries = Mutex<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func note(_ entry: String) { entries.withLock { $0.append(entry) } }
}

@Suite struct NetLordTests {
    private let journal = Journal()
    private var stub: StubTransport {
        StubTransport { [journal] request in
            journal.note("\(request.request.target) \(request.authorization ?? "unsigned")")
            return .json(#"{"name":"Ulm"}"#)
        }
    }

    private func request(_ scheme: String = "https") -> BuiltRequest {
        RequestBuilder().setScheme(scheme).setHost("example.com").setBasePath("/v1")
            .setEndpooint(Endpoint(path: "my/path", queryItems: [.init(name: "foo", value: "bar")]))
            .setHeader("X-Own", "1").build()
    }

    @Test func `a request has the base path, the query and the token of the service`()
        async throws
    {
        let keychain = Keychain()
        let authorizer = OAuthManager(service: Service(), tokenStore: keychain)
        let manager = NetworkManager(session: stub, authorizer: authorizer, decoder: JSONDecoder())
        struct City: Decodable { var name: String }
        let city = try await manager.perform(request: request(), responseType: City.self)
        #expect(city.name == "Ulm")
        #expect(journal.all == ["/v1/my/path?foo=bar Bearer from-service"])
        #expect(await keychain.tokens != nil)
    }

    @Test func `an authorizer of the document's shape runs before each kind of request`()
        async throws
    {
        let own = OwnAuthorizer(journal)
        let manager = NetworkManager(session: stub, authorizer: own)
        _ = try await manager.perform(request: request())
        _ = try await manager.dataTask(request())
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        _ = try await manager.downloadTask(request(), to: file)
        try FileManager.default.removeItem(atPath: file)
        let signed = "/v1/my/path?foo=bar Bearer own"
        #expect(journal.all == ["authorize", signed, "authorize", signed, "authorize", signed])
    }

    @Test func `an authorizer is not called for a request that needs no authorization`()
        async throws
    {
        let manager = NetworkManager(session: stub, authorizer: OwnAuthorizer(journal))
        _ = try await manager.perform(request: request(), needsAuthorization: false)
        #expect(journal.all == ["/v1/my/path?foo=bar unsigned"])
    }

    @Test func `an OAuth manager is an authorizer of the document's shape`() async throws {
        let authorizer: any Authorizing = OAuthManager(service: Service(), tokenStore: Keychain())
        #expect(authorizer.isSignedIn)
        let fields = try await authorizer.authorize()
        #expect(fields[.authorization] == "Bearer from-service")
    }

    @Test func `an own field is sent`() async throws {
        let transport = StubTransport { _ in .status(200) }
        _ = try await NetworkManager(session: transport).perform(request: request())
        #expect(transport.requests.first?.request.headers["X-Own"] == "1")
    }

    @Test func `perform throws the error of an unknown scheme`() async {
        let manager = NetworkManager(session: stub)
        let error = await #expect(throws: NetworkError.self) {
            try await manager.perform(request: request("gopher"))
        }
        #expect(error?.detail.contains("gopher") == true)
        #expect(journal.all.isEmpty)
    }
}
