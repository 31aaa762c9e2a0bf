// swift-format-ignore-file
// The lines of a document stay as they are written there.
import Foundation
import NetLord

// What the document leaves to its reader.

struct MyAuthService: TokenRetrieving, SignInRequestProvider {
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        TokenResponse(accessToken: Secret("from-my-service"))
    }
}

actor MyTokenStore: TokenStoring {
    private var tokens: Data?
    func store(_ tokens: Data) { self.tokens = tokens }
    func get() -> Data? { tokens }
    func remove() { tokens = nil }
}

/// The document's example, against a server of ours.
public func example(scheme: String, host: String) async throws -> WholeResponse {
    // sample
    let session = URLSession(configuration: .default)
    let authorizer = OAuthManager(service: MyAuthService(), tokenStore: MyTokenStore())
    let manager = NetworkManager(session: session, authorizer: authorizer, decoder: JSONDecoder())

    let queries: [URLQueryItem] = [.init(name: "foo", value: "bar")]
    let endpoint = Endpoint(path: "my/path", queryItems: queries)
    let request = RequestBuilder()
                .setScheme(scheme)  // differs: the server of this example
                .setHost(host)  // differs: the server of this example
                .setBasePath("/v1")
                .setEndpooint(endpoint)
                .build()
    return try await manager.perform(request: request)  // differs: Linux has no Combine, Swift 6 awaits
    // end
}
