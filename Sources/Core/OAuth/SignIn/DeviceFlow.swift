public import NetworkCore

/// The data for a sign-in on another device (RFC 8628 §3.2).
public struct DeviceCode: Sendable {
    /// Presented to the token endpoint while the user signs in.
    let code: Secret
    /// The code that the user types; not a secret.
    public let userCode: String
    /// The page where the user types it.
    public let page: String
    /// The same page with the code filled in, if the server has one.
    public let completePage: String?
    /// The lifetime of the code.
    public let lifetime: Duration
    /// The initial time between two polls.
    let interval: Duration
    /// The time of its request.
    let askedAt: ContinuousClock.Instant
}

/// One sign-in on another device (RFC 8628).
public struct DeviceFlow: Sendable {
    private let service: any OAuthService
    private let transport: any HTTPTransport
    private let server: ServerMetadata
    private let configuration: OAuthConfiguration
    private let clock: any NetworkClock

    /// Prepares a sign-in; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - service: presents the code to the token endpoint.
    ///   - transport: requests the code.
    ///   - server: the endpoints.
    ///   - configuration: as which client, for which scopes.
    ///   - clock: paces the polling.
    public init(
        service: any OAuthService,
        transport: any HTTPTransport,
        server: ServerMetadata,
        configuration: OAuthConfiguration,
        clock: any NetworkClock = SystemClock()
    ) {
        self.service = service
        self.transport = transport
        self.server = server
        self.configuration = configuration
        self.clock = clock
    }

    private struct Document: Decodable {
        var deviceCode: String?
        var userCode: String?
        var page: String?
        var completePage: String?
        var expiresIn: Double?
        var interval: Double?
        var error: String?
        var errorDescription: String?

        private enum Key: String, CodingKey {
            case device_code, user_code, verification_uri, verification_url, interval, expires_in
            case verification_uri_complete, error, error_description
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            deviceCode = members.text(.device_code)
            userCode = members.text(.user_code)
            // The second is the name of early drafts, which some servers still use.
            page = members.text(.verification_uri) ?? members.text(.verification_url)
            completePage = members.text(.verification_uri_complete)
            expiresIn = members.seconds(.expires_in)
            interval = members.seconds(.interval)
            error = members.text(.error)
            errorDescription = members.text(.error_description)
        }
    }

    /// Requests a code from the server (RFC 8628 §3.1).
    ///
    /// - Throws: `SignInError`.
    public func begin() async throws(SignInError) -> DeviceCode {
        guard let endpoint = server.deviceEndpoint else {
            throw SignInError(
                "the server has no device authorization endpoint; set auth.oauth.device_url or issuer"
            )
        }
        let asked = clock.now
        let (response, body) = try await ask(endpoint)
        let status = response.status
        guard let document = ServerDocument.read(Document.self, from: body, response.headers) else {
            throw SignInError("\(endpoint) answered \(response.statusWords) without a JSON object")
        }
        if let error = document.error {
            let words = [error, document.errorDescription].compactMap { text in
                text.flatMap { ServerWords.clean($0, secrets: configuration.secrets) }
            }
            throw SignInError("the server refused: \(words.joined(separator: ": "))")
        }
        guard status.kind == .successful, let code = document.deviceCode,
            let userCode = document.userCode, let page = document.page,
            DeviceFlow.isPrintable(userCode), DeviceFlow.isPage(page)
        else {
            throw SignInError(
                "\(endpoint) answered \(response.statusWords) without a device code, a user code and a page"
            )
        }
        // RFC 8628 §3.2: 5 s if the server names no interval, and always at least 1 s.
        let interval = min(max(document.interval ?? 5, 1), 300)
        return DeviceCode(
            code: Secret(code),
            userCode: userCode,
            page: page,
            completePage: document.completePage.flatMap { DeviceFlow.isPage($0) ? $0 : nil },
            lifetime: .seconds(min(max(document.expiresIn ?? 600, 1), 3600)),
            interval: .seconds(interval),
            askedAt: asked
        )
    }

    /// The result of a sign-in.
    public struct SignedIn: Sendable {
        /// The tokens.
        public let response: TokenResponse
        /// The time of the successful poll, from which lifetimes are counted.
        public let asked: UnixTime
    }

    /// Polls until the user has signed in (RFC 8628 §3.4, §3.5).
    ///
    /// `slow_down` adds 5 s to every following pause; a poll that fails in transit or with a transient
    /// error makes the next pause longer. `Retry-After` is honored as far as the code's lifetime and
    /// `retryAfterLimit` allow. A refused code is never presented again.
    ///
    /// - Parameter code: the result of `begin()`.
    /// - Returns: the tokens, with the time of the request.
    /// - Throws: `SignInError` if the user or the server refused, or when the code expires;
    ///   `CancellationError`.
    public func tokens(for code: DeviceCode) async throws -> SignedIn {
        let end = code.askedAt + code.lifetime
        var interval = code.interval
        var penalty = Duration.zero
        var asked = Duration.zero
        while true {
            let now = clock.now
            // One poll before the end remains, even if the server wants a longer wait.
            let wanted = min(now + asked, end - interval)
            let next = max(now + interval + penalty, wanted)
            guard next < end else {
                throw SignInError("no one signed in within \(code.lifetime.wholeSeconds) s")
            }
            try await clock.sleep(until: next)
            let sent = clock.moment
            do {
                let response = try await service.tokens(
                    for: .deviceCode(code.code),
                    configuration: configuration,
                    deadline: sent.steady + configuration.requestTimeout
                )
                return SignedIn(response: response, asked: sent.wall)
            } catch {
                asked = min(error.retryAfter ?? .zero, configuration.retryAfterLimit)
                switch error.serverError {
                case "authorization_pending": penalty = .zero
                case "slow_down":
                    interval += .seconds(5)
                    penalty = .zero
                case "access_denied": throw SignInError("the sign-in was denied")
                case "expired_token": throw SignInError("the code has expired; start again")
                case _ where error.kind == .transient || error.kind == .lost:
                    // RFC 8628 §3.5: back off while the server cannot be reached.
                    penalty = min(penalty + interval, .seconds(60))
                default: throw SignInError(error.detail)
                }
            }
        }
    }

    private func ask(
        _ endpoint: ServerEndpoint
    ) async throws(SignInError) -> (Response, ByteSlice) {
        let scope = FormParameter("scope", configuration.scopes.joined(separator: " "))
        let exchange = ClientExchange(
            transport: transport,
            configuration: configuration,
            clock: clock,
            clockOffset: service.clockOffset
        )
        do {
            return try await exchange.post([scope] + configuration.targets, to: endpoint)
        } catch let error as TokenFailure {
            throw SignInError(error.detail)
        } catch {
            throw SignInError("\(endpoint) cannot be reached (\(NetworkError.words(of: error)))")
        }
    }

    /// Whether a text is a page that a user may open.
    private static func isPage(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return isPrintable(text) && (start.hasPrefix("https://") || start.hasPrefix("http://"))
    }

    /// Whether a text is safe to print on a terminal.
    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.count <= 2048
            && text.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control
                    && $0.properties.generalCategory != .format
            }
    }
}
