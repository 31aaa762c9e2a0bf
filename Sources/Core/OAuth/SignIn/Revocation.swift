public import NetworkCore

/// Revokes tokens at the authorization server (RFC 7009).
public struct Revocation: Sendable {
    /// The result of a revocation.
    @nonexhaustive
    public enum Outcome: Sendable, Hashable {
        /// The server has revoked the token, or did not know it.
        case revoked
        /// The server has no revocation endpoint.
        case notOffered
        /// The server does not revoke tokens of this kind (`unsupported_token_type`).
        case kindNotOffered
        /// It failed, for this reason.
        case failed(String)
    }

    /// The kind of a token, sent as a hint (RFC 7009 §2.1).
    public enum Kind: String, Sendable {
        /// A refresh token; servers revoke the access tokens obtained with it, too.
        case refreshToken = "refresh_token"
        /// An access token.
        case accessToken = "access_token"
    }

    private let transport: any HTTPTransport
    private let server: ServerMetadata
    private let configuration: OAuthConfiguration
    private let clock: any NetworkClock
    private let clockOffset: Duration

    /// Prepares revocations; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - transport: must not be one that injects tokens.
    ///   - server: the endpoints.
    ///   - configuration: how the client authenticates.
    ///   - clock: the machine's, except in tests.
    ///   - clockOffset: how far the server's clock is ahead of ours, as an `OAuthService` knows it.
    public init(
        transport: any HTTPTransport,
        server: ServerMetadata,
        configuration: OAuthConfiguration,
        clock: any NetworkClock = SystemClock(),
        clockOffset: Duration = .zero
    ) {
        self.transport = transport
        self.server = server
        self.configuration = configuration
        self.clock = clock
        self.clockOffset = clockOffset
    }

    /// Revokes one token; with a refresh token also the access tokens obtained with it (RFC 7009 §2.1).
    public func revoke(_ token: Secret, _ kind: Kind) async -> Outcome {
        guard let endpoint = server.revocationEndpoint else { return .notOffered }
        do {
            let form = [
                FormParameter("token", token.reveal()),
                FormParameter("token_type_hint", kind.rawValue),
            ]
            let exchange = ClientExchange(
                transport: transport,
                configuration: configuration,
                clock: clock,
                clockOffset: clockOffset
            )
            let (response, body) = try await exchange.post(form, to: endpoint)
            let document = TokenDocument.parse(body, response.headers)
            let words = ProviderWords(body, response.headers)
            // RFC 7009 §2.2: 200 also for an unknown token; some servers have an error inside.
            let isRefused = document?.error != nil || words?.isMarked == true
            if response.status.kind == .successful, !isRefused { return .revoked }
            if document?.error == "unsupported_token_type" { return .kindNotOffered }
            let message = ServerMessage(document, words, hiding: configuration.secrets + [token])
            return .failed(
                "\(endpoint.origin) answered \(response.statusWords)"
                    + (message.text.map { " (\($0))" } ?? "")
            )
        } catch let error as TokenFailure {
            return .failed(error.detail)
        } catch {
            let words = NetworkError.words(of: error)
            return .failed("\(endpoint.origin) cannot be reached (\(words))")
        }
    }
}
