import FoundationEssentials

/// Gets tokens: what an `OAuthManager` asks.
public protocol TokenRetrieving: Sendable {
    /// Asks with the client's own credentials.
    ///
    /// - Throws: `TokenEndpointError`.
    func token() async throws(TokenEndpointError) -> TokenResponse

    /// Exchanges a refresh token.
    ///
    /// - Throws: `TokenEndpointError`.
    func token(refreshing refreshToken: Secret) async throws(TokenEndpointError) -> TokenResponse
}

/// Speaks to a token endpoint (RFC 6749 §3.2): POST, no redirects, capped answers, own timeout, and
/// never through the interceptors that want the token.
public struct TokenEndpointClient: TokenRetrieving {
    /// The largest answer that is read: 1 MiB, like golang.org/x/oauth2.
    private static let answerLimit = 1 << 20
    private let configuration: OAuthConfiguration
    private let transport: any HTTPTransport
    private let clock: any NetworkClock

    /// Makes a client.
    public init(
        _ configuration: OAuthConfiguration,
        transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock()
    ) {
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
    }

    /// Client credentials, RFC 6749 §4.4.2.
    public func token() async throws(TokenEndpointError) -> TokenResponse {
        var form = FormEncoder()
        form.append("grant_type", "client_credentials")
        if !configuration.scopes.isEmpty {
            form.append("scope", configuration.scopes.joined(separator: " "))
        }
        return try await post(form)
    }

    /// Refresh, RFC 6749 §6: without scope, which some servers refuse.
    public func token(
        refreshing refreshToken: Secret
    ) async throws(TokenEndpointError) -> TokenResponse {
        var form = FormEncoder()
        form.append("grant_type", "refresh_token")
        form.append("refresh_token", refreshToken.reveal())
        return try await post(form, hiding: refreshToken)
    }

    private func post(
        _ form: FormEncoder,
        hiding presented: Secret? = nil
    ) async throws(TokenEndpointError) -> TokenResponse {
        var form = form
        if let audience = configuration.audience { form.append("audience", audience) }
        for parameter in configuration.parameters { form.append(parameter.name, parameter.value) }
        var headers: HTTPHeaders = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
            .userAgent: "netproxy",
        ]
        try authenticate(&form, &headers)
        let request = Request(
            method: .post,
            origin: configuration.tokenOrigin,
            target: configuration.tokenTarget,
            headers: headers,
            body: .bytes(ByteSlice(form.text))
        )
        var context = RequestContext(deadline: .now + configuration.requestTimeout)
        do {
            let response = try await transport.send(request, context: &context)
            let body = try await response.body.collect(upTo: TokenEndpointClient.answerLimit)
            return try judge(response, body, hiding: presented)
        } catch let error as TokenEndpointError {
            throw error
        } catch let error as NetworkError {
            throw TokenEndpointError(
                .transient,
                "the token endpoint cannot be reached: \(error.detail)",
                isAmbiguous: error.retry != .safe
            )
        } catch {
            throw TokenEndpointError(
                .transient,
                "the token request was interrupted",
                isAmbiguous: true
            )
        }
    }

    private func authenticate(
        _ form: inout FormEncoder,
        _ headers: inout HTTPHeaders
    ) throws(TokenEndpointError) {
        let secret = configuration.clientSecret?.reveal() ?? ""
        switch configuration.clientAuthentication {
        case .none:
            form.append("client_id", configuration.clientID)
        case .post:
            form.append("client_id", configuration.clientID)
            form.append("client_secret", secret)
        case .basic, .basicRaw:
            var pair = "\(configuration.clientID):\(secret)"
            if case .basic = configuration.clientAuthentication {
                pair =
                    FormEncoder.encoded(configuration.clientID) + ":" + FormEncoder.encoded(secret)
            }
            headers.append(
                .authorization,
                validated: "Basic \(Data(pair.utf8).base64EncodedString())"
            )
        }
    }

    private func judge(
        _ response: Response,
        _ body: ByteSlice,
        hiding presented: Secret?
    ) throws(TokenEndpointError) -> TokenResponse {
        let status = response.status.rawValue
        let json = try? JSONDecoder().decode(TokenJSON.self, from: Data(body.array))
        if (200..<300).contains(status), let json, json.error == nil {
            return try accept(json)
        }
        let retryAfter = response.headers[.retryAfter].flatMap(retrySeconds)
        if let code = json?.error {
            let words = [code, json?.errorDescription].compactMap { $0 }.joined(separator: ": ")
            throw TokenEndpointError(
                severity(of: code, status: status),
                cleaned(words, hiding: presented),
                retryAfter: retryAfter
            )
        }
        switch status {
        case 300..<400:
            throw TokenEndpointError(
                .configuration,
                "the token endpoint answers with a redirect (\(status))"
            )
        case 200..<300:
            throw TokenEndpointError(
                .transient,
                "the token endpoint's answer holds no token",
                isAmbiguous: true
            )
        case 408, 425, 429, 500...:
            throw TokenEndpointError(
                .transient,
                "the token endpoint answers with status \(status)",
                retryAfter: retryAfter,
                isAmbiguous: status >= 500 && retryAfter == nil
            )
        default:
            throw TokenEndpointError(
                .configuration,
                "the token endpoint answers with status \(status)",
                retryAfter: retryAfter
            )
        }
    }

    private func accept(_ json: TokenJSON) throws(TokenEndpointError) -> TokenResponse {
        guard let token = json.accessToken, !token.isEmpty else {
            throw TokenEndpointError(
                .transient,
                "the token endpoint's answer holds no token",
                isAmbiguous: true
            )
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TokenEndpointError(.configuration, "the token holds bytes that no field may have")
        }
        // RFC 6749 §7.1: a token of an unknown type is not used.
        let type = json.tokenType ?? "Bearer"
        guard Grammar.equalIgnoringCase(type, "Bearer") else {
            throw TokenEndpointError(.configuration, "tokens of type \(cleaned(type)) are unknown")
        }
        let refresh = json.refreshToken.flatMap { $0.isEmpty ? nil : Secret($0) }
        return TokenResponse(
            accessToken: Secret(token),
            expiresIn: json.expiresIn?.seconds,
            refreshToken: refresh,
            scope: json.scope?.text
        )
    }

    /// RFC 6749 §5.2: on the exact code, never on a status or a message.
    private func severity(of code: String, status: Int) -> TokenEndpointError.Severity {
        switch code {
        case "invalid_grant":
            if case .refreshToken = configuration.grant { .dead } else { .configuration }
        case "server_error", "temporarily_unavailable", "slow_down": .transient
        default: status == 429 || status >= 500 ? .transient : .configuration
        }
    }

    /// Delay in seconds, or an HTTP date.
    private func retrySeconds(_ text: String) -> Int? {
        if let seconds = Int(text) { return max(seconds, 0) }
        guard let date = HTTPDate.seconds(text) else { return nil }
        return max(Int(date - clock.wallNow), 0)
    }

    /// The server's words as they may be shown: one line, bounded, without our secrets.
    private func cleaned(_ text: String, hiding presented: Secret? = nil) -> String {
        var text = String(text.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) })
        for secret in [configuration.clientSecret, presented].compactMap({ $0?.reveal() })
        where secret.utf8.count > 3 {
            text = text.replacing(secret, with: "<secret>")
        }
        // Cut last: a secret that is cut in two is not found.
        return String(text.prefix(200))
    }
}
