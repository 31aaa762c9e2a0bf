import NetworkCore

/// A token endpoint's answer, judged (RFC 6749 §5).
struct TokenAnswer {
    let status: HTTPStatus
    let headers: HTTPHeaders
    /// Nothing if the body was neither a JSON object nor a form that says it is one.
    let document: TokenDocument?
    let grant: TokenGrant
    let configuration: OAuthConfiguration
    let receivedAt: UnixTime

    func tokens() throws(TokenFailure) -> TokenResponse {
        if let error = document?.error { throw refusal(error) }
        guard status.kind == .successful else { throw unexpectedStatus() }
        guard let document, let value = document.accessToken, !value.isEmpty else {
            // Proxies in front of token endpoints answer 200 with nothing (envoyproxy/envoy#42009):
            // what stands behind them may have spent the grant.
            let advice = document == nil ? "; check token_url" : ""
            throw failure(.lost, "answered \(status) without a token\(advice)")
        }
        // RFC 6749 §7.1: a type that is not understood is not used; one that is missing is the only
        // one there was before others were thought of (as golang/oauth2 has it).
        // RFC 9449 §5: with a proof, any other type than DPoP is a token that is not bound.
        let scheme = configuration.proof == nil ? "Bearer" : "DPoP"
        guard Grammar.equalIgnoringCase(document.tokenType ?? "Bearer", scheme) else {
            throw failure(.configuration, "gave a token whose token_type is not \(scheme)")
        }
        guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(.configuration, "gave a token with characters that no field may hold")
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

    /// The server said in its own words what is wrong: decided by the exact `error` member, never by
    /// status alone or by the text of a message.
    private func refusal(_ error: String) -> TokenFailure {
        let kind: TokenFailure.Class =
            switch error {
            case "invalid_grant": .invalidGrant
            // Others' words for it: OpenID Connect Core §3.1.2.6, which Entra ID has here too, and
            // GitHub's.
            case "interaction_required", "consent_required", "login_required",
                "bad_refresh_token":
                grant.refreshToken == nil ? .configuration : .invalidGrant
            case "server_error", "temporarily_unavailable", "slow_down": .transient
            // It hands out nonces faster than they can be used.
            case "use_dpop_nonce": .transient
            case _ where isTransientStatus: .transient
            default: .configuration
            }
        return failure(kind, "refused the request")
    }

    private func unexpectedStatus() -> TokenFailure {
        if isTransientStatus { return failure(.transient, "answered \(status)") }
        if status.kind == .redirection {
            return failure(.configuration, "answered \(status), and redirects are not followed")
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
        // A gateway may have given up on an answer that was already under way.
        failure.mayBeSpent = kind == .lost || (isTransientStatus && error == nil)
        failure.retryAfter = RetryAfter.duration(in: headers, now: receivedAt)
        if error == nil, status.kind == .successful {
            failure.refreshToken = document?.refreshToken.map { Secret($0) }
        }
        return failure
    }

    /// What the client authenticates with by default (RFC 6749 §2.3.1), before it is encoded.
    private var basicCredential: Secret? {
        configuration.clientSecret.map {
            let (id, secret) = (configuration.clientID, $0.reveal())
            return Secret("\(FormEncoding.encode(id)):\(FormEncoding.encode(secret))")
        }
    }

    /// What the server may have repeated in its words.
    private var secrets: [Secret] {
        [
            basicCredential, configuration.clientSecret, document?.accessToken.map { Secret($0) },
            document?.refreshToken.map { Secret($0) },
        ].compactMap { $0 } + grant.secretParameters.map(\.value)
    }
}
