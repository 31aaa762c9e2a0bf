package import NetworkCore

/// One sign-in through a browser with an authorization code (RFC 6749 §4.1, RFC 8252).
///
/// Holds the secrets, makes the page to open, and validates the redirect. It does no I/O.
public struct AuthorizationCodeFlow: Sendable {
    let server: ServerMetadata
    let configuration: OAuthConfiguration
    private let redirect: String
    private let proof: ProofKey
    private let state: Secret

    /// Begins a sign-in with new secrets.
    ///
    /// - Parameters:
    ///   - server: the endpoints, and whether responses carry `iss`.
    ///   - configuration: as which client, for which scopes.
    ///   - redirect: where the browser is sent with the code.
    public init(
        server: ServerMetadata,
        configuration: OAuthConfiguration,
        redirect: String
    ) {
        self.init(
            server: server,
            configuration: configuration,
            redirect: redirect,
            proof: ProofKey(),
            state: Secret(Base64URL.random(bytes: 32))
        )
    }

    package init(
        server: ServerMetadata,
        configuration: OAuthConfiguration,
        redirect: String,
        proof: ProofKey,
        state: Secret
    ) {
        self.server = server
        self.configuration = configuration
        self.redirect = redirect
        self.proof = proof
        self.state = state
    }

    /// Returns the page to open in a browser.
    ///
    /// - Throws: `SignInError` if the server has no such page, or supports PKCE but not S256.
    public func page() throws(SignInError) -> String {
        try endpoint().url(adding: parameters)
    }

    /// Returns the page for a pushed request (RFC 9126 §4).
    ///
    /// - Throws: as `page()`.
    func page(for requestURI: String) throws(SignInError) -> String {
        try endpoint().url(adding: [
            FormParameter("client_id", configuration.clientID),
            FormParameter("request_uri", requestURI),
        ])
    }

    private func endpoint() throws(SignInError) -> ServerEndpoint {
        guard let endpoint = server.authorizationEndpoint else {
            throw SignInError(
                "the server has no authorization endpoint; set auth.oauth.authorization_url or issuer"
            )
        }
        guard endpoint.malformed == nil else {
            throw SignInError("'\(endpoint)' is not an http or https URL without user information")
        }
        try Self.checkChallenges(of: server)
        return endpoint
    }

    /// Refuses a server that supports PKCE but not S256.
    package static func checkChallenges(of server: ServerMetadata) throws(SignInError) {
        // RFC 7636 §4.2: always S256; plain is refused (RFC 9700 §2.1.1).
        if let methods = server.challengeMethods, !methods.contains("S256") {
            throw SignInError("the server does not support PKCE with S256")
        }
    }

    /// The parameters of the request (RFC 6749 §4.1.1, RFC 7636 §4.3).
    var parameters: [FormParameter] {
        var parameters = [
            FormParameter("response_type", "code"),
            FormParameter("client_id", configuration.clientID),
            FormParameter("redirect_uri", redirect),
            FormParameter("scope", configuration.scopes.joined(separator: " ")),
            FormParameter("state", state.reveal()),
            FormParameter("code_challenge", proof.challenge),
            FormParameter("code_challenge_method", "S256"),
        ]
        // RFC 9449 §10: binds the code to the key, too.
        if let binding = configuration.proof {
            parameters.append(FormParameter("dpop_jkt", binding.thumbprint))
        }
        if let audience = configuration.audience {
            parameters.append(FormParameter("audience", audience))
        }
        parameters += configuration.resources.map { FormParameter("resource", $0) }
        return parameters + configuration.authorizationParameters
    }

    /// The secrets that a server may repeat in its messages.
    var secrets: [Secret] { [state, proof.verifier] + configuration.secrets }

    /// The meaning of a redirect.
    public enum Answer: Sendable {
        /// The code, to be presented once (RFC 6749 §4.1.3).
        case grant(TokenGrant)
        /// The server or the user refused.
        case refused(SignInError)
        /// Not a response to this sign-in, but another page's or a forged one, with the evidence as one
        /// clause. No part is trusted, and the real response may still come.
        case foreign(String)
    }

    /// Validates the query of the redirect (RFC 6749 §4.1.2, RFC 9207 §2.4).
    public func answer(_ query: String) -> Answer {
        let fields = FormDecoding.decode(query)
        func only(_ name: String) -> String? {
            let values = fields.filter { $0.name == name }
            return values.count == 1 ? values[0].value : nil
        }
        guard let theirs = only("state"), Secret(theirs) == state else {
            let isMissing = fields.allSatisfy { $0.name != "state" || $0.value.isEmpty }
            let claim = only("error").flatMap { ServerWords.clean($0, secrets: secrets) }
            return .foreign(
                (isMissing ? "it has no state" : "its state is not that of this sign-in")
                    + (claim.map { ", and it says \($0.prefix(64))" } ?? "")
            )
        }
        switch fields.filter({ $0.name == "iss" }).map(\.value) {
        case []:
            if server.answersWithIssuer {
                return .refused(
                    SignInError("the response lacks the issuer that the metadata announces")
                )
            }
        case let issuers where server.issuer.map { issuers == [$0] } ?? (issuers.count == 1): break
        default: return .refused(SignInError("the response names another issuer"))
        }
        // A parameter with an empty value counts as absent (RFC 6749 §3.1).
        if let error = only("error"), !error.isEmpty {
            let words = [error, only("error_description")].compactMap { text in
                text.flatMap { ServerWords.clean($0, secrets: secrets) }
            }
            return .refused(
                SignInError("the server refused: \(words.joined(separator: ": "))", code: error)
            )
        }
        guard let code = only("code"), !code.isEmpty else {
            return .refused(SignInError("the response has neither a code nor an error"))
        }
        return .grant(
            .authorizationCode(Secret(code), redirect: redirect, verifier: proof.verifier)
        )
    }
}

/// The reason of a failed sign-in, as one clause that names the remedy, without secrets.
public struct SignInError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause.
    public let description: String
    /// The server's `error` code (RFC 6749 §4.1.2.1), if it sent one.
    public let serverError: String?

    /// Creates an error.
    public init(_ description: String, code serverError: String? = nil) {
        self.description = description
        self.serverError = serverError
    }
}
