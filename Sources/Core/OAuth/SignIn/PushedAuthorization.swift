public import NetworkCore

extension AuthorizationCodeFlow {
    private struct Document: Decodable {
        var requestURI: String?
        var error: String?
        var errorDescription: String?

        private enum Key: String, CodingKey {
            case request_uri, error, error_description
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            requestURI = members.text(.request_uri)
            error = members.text(.error)
            errorDescription = members.text(.error_description)
        }
    }

    /// Returns the page to open in a browser.
    ///
    /// The request is pushed to a server with an endpoint for that (RFC 9126): then the page's address
    /// does not reveal the request, and no one can change it.
    ///
    /// A server that refuses the pushed request without requiring one gets the request through the
    /// browser.
    ///
    /// - Parameters:
    ///   - transport: must not be one that injects tokens.
    ///   - clock: the machine's, except in tests.
    ///   - clockOffset: the time by which the server's clock is ahead of ours.
    /// - Returns: the address of the page.
    /// - Throws: `SignInError`.
    public func page(
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        clockOffset: Duration = .zero
    ) async throws(SignInError) -> String {
        let plain = try page()
        guard let endpoint = server.pushedEndpoint else {
            guard server.requiresPushedRequests else { return plain }
            throw SignInError(
                "the server requires pushed authorization requests, and its metadata names no endpoint "
                    + "for them; set auth.oauth.par_url"
            )
        }
        let exchange = ClientExchange(
            transport: transport,
            configuration: configuration,
            clock: clock,
            clockOffset: clockOffset
        )
        do {
            let uri = try await push(to: endpoint, by: exchange)
            return try page(for: uri)
        } catch {
            guard !server.requiresPushedRequests else { throw error }
            return plain
        }
    }

    private func push(
        to endpoint: ServerEndpoint,
        by exchange: ClientExchange
    ) async throws(SignInError) -> String {
        let response: Response
        let content: ByteSlice
        do {
            // The client's authentication brings its id.
            let form = parameters.filter {
                $0.name != "client_id" || configuration.clientAuthentication.isOutsideOfForm
            }
            (response, content) = try await exchange.post(form, to: endpoint, with: .proof)
        } catch let error as TokenFailure {
            throw SignInError(error.detail)
        } catch {
            throw SignInError("\(endpoint) cannot be reached (\(NetworkError.words(of: error)))")
        }
        let document = ServerDocument.read(Document.self, from: content, response.headers)
        if let uri = document?.requestURI, response.status.kind == .successful { return uri }
        let words = [document?.error, document?.errorDescription].compactMap { text in
            text.flatMap { ServerWords.clean($0, secrets: secrets) }
        }
        throw SignInError(
            words.isEmpty
                ? "\(endpoint) answered \(response.statusWords) without a request_uri"
                : "the server refused the request for a sign-in: \(words.joined(separator: ": "))"
        )
    }
}

extension OAuthConfiguration.ClientAuthentication {
    /// Whether the client's id is not in the form.
    fileprivate var isOutsideOfForm: Bool {
        switch self {
        case .basic, .basicRaw: true
        case .post, .privateKeyJWT, .tls, .none: false
        }
    }
}
