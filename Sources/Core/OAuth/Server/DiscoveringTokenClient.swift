import NetworkCore

/// Sends token requests to the token endpoint that the server's metadata names.
///
/// If the metadata lists the client authentication methods and the configured one is not among them,
/// the request fails before anything is presented; another method is never tried.
public struct DiscoveringTokenClient: OAuthService {
    private let client: TokenEndpointClient
    private let directory: MetadataDirectory

    /// Makes a client for the server whose metadata a directory finds.
    public init(_ client: TokenEndpointClient, directory: MetadataDirectory) {
        self.client = client
        self.directory = directory
    }

    /// The issuer whose metadata it uses.
    public var issuer: String? { directory.issuer }

    /// The time by which the token endpoint's clock is ahead of ours.
    public var clockOffset: Duration { client.clockOffset }

    /// Presents a grant once, at the endpoint that the metadata names.
    ///
    /// - Throws: `TokenFailure`.
    public func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let server: ServerMetadata
        let asked = client.clock.now
        do {
            server = try await directory.metadata()
        } catch {
            var failure = TokenFailure(
                error.isTransient ? .transient : .configuration,
                detail: error.description
            )
            // The document may be there again soon, like a token endpoint behind a gateway.
            failure.needsOperator = false
            throw failure
        }
        var found = configuration
        found.issuer = directory.issuer
        found.tokenEndpoint = try endpoint(of: server, for: configuration)
        do {
            // The time spent on metadata is added: a refresh token must not be presented when its own
            // deadline is nearly over, or it may be spent for a response that comes too late.
            return try await client.tokens(
                for: grant,
                configuration: found,
                deadline: deadline + (client.clock.now - asked)
            )
        } catch {
            // The endpoint may have moved: metadata is fetched again before the next attempt.
            let isOfServer =
                error.serverError != nil
                && (error.kind != .configuration || error.needsOperator)
            if !isOfServer { await directory.invalidate() }
            throw error
        }
    }

    private func endpoint(
        of server: ServerMetadata,
        for configuration: OAuthConfiguration
    ) throws(TokenFailure) -> ServerEndpoint {
        let method = configuration.clientAuthentication
        // Public clients do not authenticate, and not every server that accepts them lists "none"
        // (django-oauth-toolkit).
        if method != .none, let offered = server.clientAuthentications,
            !method.names.contains(where: offered.contains)
        {
            let words = ServerWords.clean(offered.joined(separator: ", "), secrets: []) ?? "none"
            throw TokenFailure(
                .configuration,
                detail: "the server does not offer the client_auth that is configured "
                    + "(\(method.names[0])); it offers \(words)"
            )
        }
        if let algorithm = configuration.proof?.algorithm.rawValue,
            let offered = server.proofAlgorithms, !offered.contains(algorithm)
        {
            let words = ServerWords.clean(offered.joined(separator: ", "), secrets: []) ?? "none"
            throw TokenFailure(
                .configuration,
                detail: "the server does not accept proofs in the algorithm of dpop_key "
                    + "(\(algorithm)); it accepts \(words)"
            )
        }
        // RFC 8705 §5: clients with a certificate use the alias, if there is one.
        let alias = method == .tls ? server.certificateTokenEndpoint : nil
        guard let endpoint = alias ?? server.tokenEndpoint else {
            throw TokenFailure(
                .configuration,
                detail:
                    "the metadata for \(directory.issuer) names no token endpoint; set token_url"
            )
        }
        return endpoint
    }
}

extension OAuthConfiguration.ClientAuthentication {
    /// Its names in metadata (RFC 8414 §2, RFC 8705 §2).
    var names: [String] {
        switch self {
        case .basic, .basicRaw: ["client_secret_basic"]
        case .post: ["client_secret_post"]
        case .privateKeyJWT: ["private_key_jwt"]
        case .tls: ["tls_client_auth", "self_signed_tls_client_auth"]
        case .none: ["none"]
        }
    }
}
