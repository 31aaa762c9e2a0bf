import NetworkCore

/// Turns a token endpoint's response into tokens or a failure (RFC 6749 §5).
struct TokenAnswer {
    let status: HTTPStatus
    let headers: HTTPHeaders
    /// `nil` if the body was neither a JSON object nor a form with the content type of one.
    let document: TokenDocument?
    let grant: TokenGrant
    let configuration: OAuthConfiguration
    let receivedAt: UnixTime

    func tokens() throws(TokenFailure) -> TokenResponse {
        if let error = document?.error { throw refusal(error) }
        guard status.kind == .successful else { throw unexpectedStatus() }
        guard let document, let value = document.accessToken, !value.isEmpty else {
            // Proxies before token endpoints answer 200 without content (envoyproxy/envoy#42009): the
            // endpoint itself may have spent the grant.
            let advice = document == nil ? "; check token_url" : ""
            throw failure(.lost, "answered \(status) without a token\(advice)")
        }
        // RFC 6749 §7.1: a token of an unknown type is not used. A missing type means Bearer, as in
        // golang/oauth2. RFC 9449 §5: with a proof, a type other than DPoP is a token that is not bound.
        let scheme = configuration.proof == nil ? "Bearer" : "DPoP"
        guard Grammar.equalIgnoringCase(document.tokenType ?? "Bearer", scheme) else {
            throw failure(.configuration, "returned a token whose token_type is not \(scheme)")
        }
        guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(
                .configuration,
                "returned a token with characters that are not allowed in a header field"
            )
        }
        var response = TokenResponse(
            accessToken: Secret(value),
            lifetime: document.lifetime,
            refreshIn: document.refreshHint,
            refreshToken: document.refreshToken.map { Secret($0) },
            scope: document.scope.flatMap { Grammar.isFieldValue($0) ? $0 : nil }
        )
        response.refreshLifetime = document.refreshLifetime
        response.scheme = scheme
        return response
    }

    /// Returns the failure that the `error` member stands for: the exact word decides, never the status
    /// alone or the text of a message.
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
            default: .configuration
            }
        return failure(kind, "refused the request")
    }

    private func unexpectedStatus() -> TokenFailure {
        if isTransientStatus { return failure(.transient, "answered \(status)") }
        if status.kind == .redirection {
            return failure(.configuration, "answered \(status); redirects are not followed")
        }
        return failure(.configuration, "answered \(status) without an OAuth error; check token_url")
    }

    private var isTransientStatus: Bool {
        switch status.rawValue {
        case 408, 425, 429, 500...: true
        default: false
        }
    }

    private func failure(_ kind: TokenFailure.Class, _ what: String) -> TokenFailure {
        let error = document?.error.flatMap { ServerWords.clean($0, secrets: secrets) }
        let words = document?.errorDescription.flatMap { ServerWords.clean($0, secrets: secrets) }
        let quoted = [error, words].compactMap { $0 }.joined(separator: ": ")
        var failure = TokenFailure(
            kind,
            detail: "the token endpoint \(configuration.tokenEndpoint.origin) \(what)"
                + (quoted.isEmpty ? "" : " (\(quoted))")
        )
        failure.serverError = error
        failure.serverDescription = words
        // A gateway may have timed out while the response was already under way.
        failure.mayBeSpent = kind == .lost || (isTransientStatus && error == nil)
        failure.retryAfter = RetryAfter.duration(in: headers, now: receivedAt)
        if error == nil, status.kind == .successful {
            failure.refreshToken = document?.refreshToken.map { Secret($0) }
        }
        return failure
    }

    /// The credential of HTTP Basic, the default (RFC 6749 §2.3.1), before base64.
    private var basicCredential: Secret? {
        configuration.clientSecret.map {
            let (id, secret) = (configuration.clientID, $0.reveal())
            return Secret("\(FormEncoding.encode(id)):\(FormEncoding.encode(secret))")
        }
    }

    /// The secrets that the server may have quoted in its error.
    private var secrets: [Secret] {
        [
            basicCredential, configuration.clientSecret, document?.accessToken.map { Secret($0) },
            document?.refreshToken.map { Secret($0) },
        ].compactMap { $0 } + grant.secretParameters.map(\.value)
    }
}
