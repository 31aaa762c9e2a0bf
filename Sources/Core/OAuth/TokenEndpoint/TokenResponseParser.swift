import NetworkCore

/// Turns the response of a token endpoint into tokens or a failure (RFC 6749 §5).
struct TokenResponseParser {
    let status: HTTPStatus
    /// The status, with the target of a redirect that was not followed.
    let statusWords: String
    let headers: HTTPHeaders
    /// `nil` if the body was neither a JSON object nor a form with the content type of one.
    let document: TokenDocument?
    /// The words of the body if it is an error in the provider's own shape.
    let words: ProviderWords?
    let grant: TokenGrant
    let configuration: OAuthConfiguration
    let receivedAt: UnixTime

    init(
        _ response: Response,
        _ body: ByteSlice,
        to grant: TokenGrant,
        _ configuration: OAuthConfiguration,
        receivedAt: UnixTime
    ) {
        status = response.status
        statusWords = response.statusWords
        headers = response.headers
        document =
            grant.json == nil
            ? TokenDocument.parse(body, response.headers, configuration.responsePointers)
            : TokenDocument(installation: body, response.headers, at: receivedAt)
        let hasToken = document?.accessToken != nil || document?.idToken != nil
        words = hasToken && document?.error == nil ? nil : ProviderWords(body, response.headers)
        self.grant = grant
        self.configuration = configuration
        self.receivedAt = receivedAt
    }

    func tokens() throws(TokenFailure) -> TokenResponse {
        if let error = document?.error { throw refusal(error) }
        guard status.kind == .successful else { throw unexpectedStatus() }
        guard let document, let (value, lifetime) = presented(document) else {
            throw answerWithoutToken()
        }
        let scheme = configuration.proof == nil ? "Bearer" : "DPoP"
        let type = document.tokenType ?? "Bearer"
        guard isUsable(type) else {
            let shown = ServerWords.clean(type, secrets: secrets) ?? "?"
            throw failure(
                .configuration,
                "returned a token whose token_type is \(shown), not \(scheme)"
            )
        }
        guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(
                .configuration,
                "returned a token with characters that a header field cannot contain"
            )
        }
        var response = TokenResponse(
            accessToken: Secret(value),
            lifetime: lifetime,
            refreshIn: document.refreshHint,
            refreshToken: document.refreshToken.map { Secret($0) },
            scope: document.scope.flatMap { Grammar.isFieldValue($0) ? $0 : nil }
        )
        response.refreshLifetime = document.refreshLifetime
        response.scheme = scheme
        if !Grammar.equalIgnoringCase(type, scheme) {
            response.unusualType = ServerWords.clean(type, secrets: secrets)
        }
        return response
    }

    /// The token that requests carry, and how long it lives.
    private func presented(_ document: TokenDocument) -> (String, Duration?)? {
        switch configuration.use {
        case .accessToken: document.accessToken.map { ($0, document.lifetime) }
        case .idToken:
            document.idToken.map { ($0, document.idTokenLifetime ?? document.lifetime) }
        }
    }

    /// Whether a token of this type can be presented.
    ///
    /// RFC 6749 §7.1 has a client refuse a type that it does not understand; servers write `BearerToken`,
    /// `bot` or `Application Access Token` and mean `Bearer`. Tokens that need more than their own text
    /// are refused: `mac` (an expired draft), `pop`, `N_A` (RFC 8693 §2.2.1: not an access token) and
    /// `DPoP` without a key. With a key the token must be bound to it (RFC 9449 §5).
    private func isUsable(_ type: String) -> Bool {
        if configuration.proof != nil { return Grammar.equalIgnoringCase(type, "DPoP") }
        return !["mac", "pop", "n_a", "dpop"].contains { Grammar.equalIgnoringCase(type, $0) }
    }

    // MARK: - Refusals

    /// Returns the failure that the `error` member stands for: the exact word decides, never the status
    /// alone or the text of a message, as long as RFC 6749 §5.2 knows the word.
    private func refusal(_ error: String) -> TokenFailure {
        let kind: TokenFailure.Class =
            switch error {
            case "invalid_grant": .invalidGrant
            // Synonyms: those of OpenID Connect Core §3.1.2.6, which Entra ID sends here too, and
            // GitHub's.
            case "interaction_required", "consent_required", "login_required",
                "bad_refresh_token":
                grant.refreshToken == nil ? .configuration : .invalidGrant
            case "server_error", "temporarily_unavailable", "slow_down": .transient
            // The server replaces its nonces faster than they can be used.
            case "use_dpop_nonce": .transient
            case _ where isTransientStatus: .transient
            // Our requests are valid except possibly for the refresh token (Databricks, Zoom).
            case "invalid_request"
            where grant.refreshToken != nil && words?.sayThatRefreshTokenIsDead == true:
                .invalidGrant
            case "invalid_request", "invalid_client", "unauthorized_client",
                "unsupported_grant_type", "invalid_scope", "invalid_target":
                .configuration
            case _ where saysThatRefreshTokenIsDead: .invalidGrant
            case _ where words?.meansTrouble == true: .transient
            default: .configuration
            }
        return failure(kind, "refused the request")
    }

    private var saysThatRefreshTokenIsDead: Bool {
        grant.refreshToken != nil && words?.meansDeadRefreshToken == true
    }

    private func unexpectedStatus() -> TokenFailure {
        if isTransientStatus { return failure(.transient, "answered \(status)") }
        if status.kind == .redirection {
            return failure(.configuration, "answered \(statusWords); check token_url")
        }
        if grant.json != nil, status.kind == .clientError { return installationRefusal() }
        if let words, status.kind == .clientError { return ownRefusal(words) }
        return gatewayFault("answered \(status) without an OAuth error; check token_url")
    }

    /// Returns the failure that GitHub describes by the status.
    private func installationRefusal() -> TokenFailure {
        switch status.rawValue {
        // Beyond a limit on requests.
        case 403 where headers.contains(HTTPFieldName.retryAfter):
            failure(.transient, "answered \(status)")
        case 401:
            failure(.configuration, "does not accept the app's key: check client_id and client_key")
        case 404:
            failure(
                .configuration,
                "knows no such installation of the app: check installation, or install it again"
            )
        default: failure(.configuration, "refused the request with \(status)")
        }
    }

    /// Returns the failure that a provider describes in its own way.
    private func ownRefusal(_ words: ProviderWords) -> TokenFailure {
        if saysThatRefreshTokenIsDead { return failure(.invalidGrant, "refused the request") }
        if words.meansTrouble { return failure(.transient, "refused the request") }
        // Another gateway's JSON looks the same as the provider's own.
        return gatewayFault("answered \(status) without an OAuth error")
    }

    /// Returns a failure that may come from a gateway in front of the token endpoint: one with a wrong
    /// route for a moment says 403 or 404, so the next attempt follows soon.
    private func gatewayFault(_ what: String) -> TokenFailure {
        var failure = failure(.configuration, what)
        failure.needsOperator = false
        return failure
    }

    private func answerWithoutToken() -> TokenFailure {
        if let words, words.isMarked { return ownRefusal(words) }
        if document?.idToken != nil, configuration.use == .accessToken {
            return failure(
                .configuration,
                "answered with an id_token and no access_token; to send that, set use: id_token"
            )
        }
        if document?.accessToken != nil {
            return failure(
                .configuration,
                "answered without an id_token; add openid to scopes, or set use: access_token"
            )
        }
        // Proxies before token endpoints send 200 without content (envoyproxy/envoy#42009), and the
        // endpoint itself may have spent the grant.
        let advice = document == nil ? "; check token_url" : ""
        return failure(.lost, "answered \(status) without a token\(advice)")
    }

    private var isTransientStatus: Bool {
        switch status.rawValue {
        case 408, 425, 429, 500...: true
        default: false
        }
    }

    private func failure(_ kind: TokenFailure.Class, _ what: String) -> TokenFailure {
        let message = ServerMessage(document, words, hiding: secrets)
        var failure = TokenFailure(
            kind,
            detail: "the token endpoint \(configuration.tokenEndpoint.origin) \(what)"
                + (message.text.map { " (\($0))" } ?? "")
        )
        failure.serverError = message.error
        failure.serverDescription = message.description
        // A gateway may have timed out while the response was already under way.
        failure.mayBeSpent = kind == .lost || (isTransientStatus && document?.error == nil)
        failure.retryAfter = RetryAfter.duration(in: headers, now: receivedAt)
        if document?.error == nil, status.kind == .successful {
            failure.refreshToken = document?.refreshToken.map { Secret($0) }
        }
        return failure
    }

    /// The credential of HTTP Basic, the default (RFC 6749 §2.3.1), before base64.
    private var basicCredential: Secret? {
        configuration.presentedSecret.map {
            let (id, secret) = (configuration.clientID, $0.reveal())
            return Secret("\(FormEncoding.encode(id)):\(FormEncoding.encode(secret))")
        }
    }

    /// The secrets that the server may have quoted in its error.
    private var secrets: [Secret] {
        [
            basicCredential, document?.accessToken.map { Secret($0) },
            document?.idToken.map { Secret($0) }, document?.refreshToken.map { Secret($0) },
        ].compactMap { $0 } + configuration.secrets + grant.secretParameters.map(\.value)
    }
}

/// A server's message about a refusal, fit to be shown.
struct ServerMessage {
    /// The code: `error`, or the first one of the provider's own.
    let error: String?
    /// The sentences.
    let description: String?
    /// Both in one line.
    let text: String?

    init(_ document: TokenDocument?, _ words: ProviderWords?, hiding secrets: [Secret]) {
        func clean(_ text: String) -> String? { ServerWords.clean(text, secrets: secrets) }
        var codes = [document?.error, document?.suberror].compactMap { $0 }
        if codes.isEmpty { codes = words?.codes ?? [] }
        var sentences = document?.errorDescription.map { [$0] } ?? []
        for sentence in words?.sentences ?? [] where !sentences.contains(sentence) {
            if sentence != document?.error { sentences.append(sentence) }
        }
        let shownCodes = codes.compactMap(clean)
        error = document?.error.flatMap(clean) ?? shownCodes.first
        description = clean(sentences.joined(separator: "; "))
        let quoted = [shownCodes.joined(separator: ", "), description ?? ""]
            .filter { !$0.isEmpty }.joined(separator: ": ")
        // Together they stay within the limit of one text.
        text = ServerWords.clean(quoted, secrets: [])
    }
}
