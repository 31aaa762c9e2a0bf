import FoundationEssentials
import NetproxyBytes
package import NetworkCore

/// Registers a client with an authorization server (RFC 7591).
package struct ClientRegistration: Sendable {
    /// The maximum duration of a registration.
    private static let timeout = Duration.seconds(10)
    /// The largest accepted response.
    private static let limit = 64 * 1024

    private let server: ServerMetadata
    private let redirect: String
    private let scopes: [String]
    private let grantTypes: [String]

    /// Describes the client.
    ///
    /// - Parameters:
    ///   - server: the server.
    ///   - redirect: the redirect URI, with its port: many servers compare that too, although RFC 8252
    ///     §7.3 forbids it.
    ///   - scopes: the scopes that it may request; none if unknown.
    ///   - purpose: the kind of sign-in.
    package init(
        with server: ServerMetadata,
        redirect: String,
        scopes: [String],
        for purpose: Purpose = .browser
    ) {
        self.server = server
        self.redirect = redirect
        self.scopes = scopes
        // Without a refresh token the user would have to sign in every hour, but some servers refuse
        // clients that request unsupported grants.
        let wanted =
            ["authorization_code"] + (purpose == .device ? [Self.deviceGrant] : [])
            + ["refresh_token"]
        let offered = server.grantTypes
        grantTypes = wanted.filter { $0 != "refresh_token" || offered?.contains($0) != false }
    }

    /// The kind of sign-in with the client.
    package enum Purpose: Sendable {
        case browser, device
    }

    private static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

    /// The client's authentication: the least that the server allows.
    ///
    /// A secret that every copy of a program can have proves nothing (RFC 8252 §8.4). It goes into the form
    /// rather than into Basic: servers made with the SDKs of MCP look for the client's id in the form only.
    ///
    /// - Throws: `SignInError` if the server accepts no method that a registered client can use.
    func method() throws(SignInError) -> PinnedServer.Client.Authentication {
        guard let offered = server.clientAuthentications else { return .none }
        let known = PinnedServer.Client.Authentication.allCases
        guard let method = known.first(where: { offered.contains($0.rawValue) }) else {
            throw SignInError(
                "the server accepts no client without a key or a certificate (it offers "
                    + "\(ServerWords.shown(offered.joined(separator: ", ")))); register a client there "
                    + "and set auth.oauth.client_id"
            )
        }
        return method
    }

    private struct Metadata: Encodable {
        var client_name = "netproxy"
        var redirect_uris: [String]
        var grant_types: [String]
        var response_types = ["code"]
        var token_endpoint_auth_method: String
        /// A loopback redirect is for native applications (OpenID Connect Registration §2).
        var application_type = "native"
        var scope: String?
    }

    private struct Document: Decodable {
        var clientID: String?
        var secret: String?
        var secretExpiry: Double?
        var method: String?
        var redirects: [String]?
        var scope: String?
        var error: String?
        var errorDescription: String?

        private enum Key: String, CodingKey {
            case client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method
            case redirect_uris, scope, error, error_description
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            clientID = members.text(.client_id)
            secret = members.text(.client_secret)
            secretExpiry = members.seconds(.client_secret_expires_at)
            method = members.text(.token_endpoint_auth_method)
            redirects = try? members.decode([String].self, forKey: .redirect_uris)
            scope = members.text(.scope)
            error = members.text(.error)
            errorDescription = members.text(.error_description)
        }
    }

    /// Registers the client.
    ///
    /// - Parameters:
    ///   - transport: must not be one that injects tokens.
    ///   - clock: the machine's, except in tests.
    ///   - plainHTTP: whether `http` is accepted for hosts other than this machine.
    /// - Returns: the client, with its redirect URI.
    /// - Throws: `SignInError`.
    package func register(
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) async throws(SignInError) -> PinnedServer.Client {
        guard let endpoint = server.registrationEndpoint else {
            throw SignInError(
                "the server \(server.issuer ?? "") registers no clients by itself; register one there "
                    + "and set auth.oauth.client_id"
            )
        }
        guard endpoint.isAcceptable(plainHTTP) else {
            throw SignInError("the registration endpoint \(endpoint) is not https")
        }
        let method = try method()
        let (response, content): (Response, ByteSlice)
        do {
            (response, content) = try await DocumentReader(over: transport, clock: clock).document(
                for: try request(to: endpoint, method),
                upTo: Self.limit,
                until: clock.now + Self.timeout
            )
        } catch {
            throw SignInError("\(endpoint) cannot be reached (\(NetworkError.words(of: error)))")
        }
        guard let document = ServerDocument.read(Document.self, from: content, response.headers),
            response.status.kind == .successful, document.error == nil
        else { throw refusal(response, content, endpoint) }
        return try client(document, asking: method, endpoint, at: clock.wallNow)
    }

    private func request(
        to endpoint: ServerEndpoint,
        _ method: PinnedServer.Client.Authentication
    ) throws -> Request {
        let metadata = Metadata(
            redirect_uris: [redirect],
            grant_types: grantTypes,
            token_endpoint_auth_method: method.rawValue,
            scope: scopes.isEmpty ? nil : scopes.joined(separator: " ")
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Request(
            method: .post,
            origin: endpoint.origin,
            target: endpoint.target,
            headers: [
                .contentType: "application/json", .accept: "application/json",
                .acceptEncoding: "identity",
            ],
            body: .bytes(ByteSlice(Array(try encoder.encode(metadata))))
        )
    }

    /// The client as the server registered it, which may differ from the request (RFC 7591 §3.2.1).
    private func client(
        _ document: Document,
        asking method: PinnedServer.Client.Authentication,
        _ endpoint: ServerEndpoint,
        at now: UnixTime
    ) throws(SignInError) -> PinnedServer.Client {
        guard let id = document.clientID, id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw SignInError("\(endpoint) registered a client without a printable client_id")
        }
        if let redirects = document.redirects, !redirects.contains(redirect) {
            throw SignInError(
                "\(endpoint) registered another redirect URI than \(redirect); register a client there "
                    + "and set auth.oauth.client_id"
            )
        }
        let named = document.method.map(PinnedServer.Client.Authentication.init) ?? method
        guard var named else {
            throw SignInError(
                "\(endpoint) wants the client to authenticate by "
                    + "\(ServerWords.shown(document.method ?? "")), which netproxy does not do for a "
                    + "registered client; register one there and set auth.oauth.client_id"
            )
        }
        if document.secret == nil {
            named = .none
        } else if named == .none, document.method == nil {
            // RFC 7591 §2: the default of a client with a secret.
            named = .basic
        }
        // Zero means never (RFC 7591 §3.2.1).
        let expiry = document.secretExpiry.flatMap { $0 > 0 ? min($0, 253_402_300_799) : nil }
        let hasSecret = named != .none
        let client = PinnedServer.Client(
            id: id,
            kind: .registered,
            secret: hasSecret ? document.secret.map { Secret($0) } : nil,
            secretExpiresAt: hasSecret ? expiry.map { UnixTime(secondsSinceEpoch: $0) } : nil,
            authentication: named,
            redirect: redirect,
            scopes: document.scope.map(ScopeList.scopes) ?? scopes
        )
        guard client.isGood(at: now) else {
            throw SignInError(
                "\(endpoint) registered a client whose secret has expired already "
                    + "(client_secret_expires_at); check the clocks, or register a client there and set "
                    + "auth.oauth.client_id"
            )
        }
        return client
    }

    private func refusal(
        _ response: Response,
        _ content: ByteSlice,
        _ endpoint: ServerEndpoint
    ) -> SignInError {
        let document = ServerDocument.read(Document.self, from: content, response.headers)
        let words = [document?.error, document?.errorDescription].compactMap { text in
            text.flatMap { ServerWords.clean($0, secrets: []) }
        }
        let said = words.isEmpty ? "" : " (\(words.joined(separator: ": ")))"
        return SignInError(
            "\(endpoint) did not register a client: \(response.statusWords)\(said); register one there and "
                + "set auth.oauth.client_id",
            code: document?.error.flatMap { ServerWords.clean($0, secrets: []) }
        )
    }
}
