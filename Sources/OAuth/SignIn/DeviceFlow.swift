import FoundationEssentials
public import NetworkCore

/// What a person needs to sign in on another device (RFC 8628 §3.2).
public struct DeviceCode: Sendable {
    /// Presented at the token endpoint while the person types.
    let code: Secret
    /// What the person types; meant to be seen.
    public let userCode: String
    /// Where the person types it.
    public let page: String
    /// The same with the code in it, where the server has that.
    public let completePage: String?
    /// How long the person has.
    public let lifetime: Duration
    /// How long to wait between two polls, at first.
    let interval: Duration
    /// When it was asked for.
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
    ///   - service: presents the code at the token endpoint.
    ///   - transport: asks for the code.
    ///   - server: the endpoints.
    ///   - configuration: as which client, for which scopes.
    ///   - clock: the pace of polling.
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
            // The name that drafts had, and that some servers still use.
            page = members.text(.verification_uri) ?? members.text(.verification_url)
            completePage = members.text(.verification_uri_complete)
            expiresIn = members.seconds(.expires_in)
            interval = members.seconds(.interval)
            error = members.text(.error)
            errorDescription = members.text(.error_description)
        }
    }

    /// Asks the server for a code (RFC 8628 §3.1).
    ///
    /// - Throws: `SignInError`.
    public func begin() async throws(SignInError) -> DeviceCode {
        guard let endpoint = server.deviceEndpoint else {
            throw SignInError(
                "the server has no device authorization endpoint; set auth.oauth.device_url or issuer"
            )
        }
        let asked = clock.now
        let (status, body) = try await ask(endpoint)
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(body))
        } catch {
            throw SignInError("\(endpoint) answered \(status) without a JSON object")
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
        else { throw SignInError("\(endpoint) answered \(status) without the codes it should") }
        // RFC 8628 §3.2: 5 s where the server does not say; a server that says 0 is not believed.
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

    /// What a sign-in ended with.
    public struct SignedIn: Sendable {
        /// The tokens.
        public let response: TokenResponse
        /// When the poll that brought them was sent: their lifetimes count from there.
        public let asked: UnixTime
    }

    /// Polls until the person has signed in (RFC 8628 §3.4, §3.5).
    ///
    /// `slow_down` adds 5 s for good; a poll that fails on the way, or at a server that is in
    /// trouble, makes the next pause longer. A wait that the server names is kept, as far as the
    /// code's lifetime and `retryAfterLimit` allow. A code that was refused is never presented again.
    ///
    /// - Parameter code: what `begin()` brought.
    /// - Returns: the tokens, and when they were asked for.
    /// - Throws: `SignInError` when the person or the server said no, or at the code's end;
    ///   `CancellationError`.
    public func tokens(for code: DeviceCode) async throws -> SignedIn {
        let end = code.askedAt + code.lifetime
        var interval = code.interval
        var penalty = Duration.zero
        var asked = Duration.zero
        while true {
            let now = clock.now
            // However long the server wants to be left alone, one poll before the end remains.
            let wanted = min(now + asked, end - interval)
            let next = max(now + interval + penalty, wanted)
            guard next < end else {
                throw SignInError("nobody signed in within \(code.lifetime.wholeSeconds) s")
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
                    // RFC 8628 §3.5: servers that cannot answer are left alone for longer each time.
                    penalty = min(penalty + interval, .seconds(60))
                default: throw SignInError(error.detail)
                }
            }
        }
    }

    private func ask(
        _ endpoint: ServerEndpoint
    ) async throws(SignInError) -> (HTTPStatus, [UInt8]) {
        do {
            let scope = FormParameter("scope", configuration.scopes.joined(separator: " "))
            let request = try ClientRequest(configuration, at: clock.wallNow + service.clockOffset)
                .post([scope] + configuration.targets, to: endpoint)
            let (response, body) = try await transport.answer(
                to: request,
                upTo: 64 * 1024,
                until: clock.now + configuration.requestTimeout,
                on: clock
            )
            return (response.status, body.array)
        } catch let error as TokenFailure {
            throw SignInError(error.detail)
        } catch {
            throw SignInError("\(endpoint) cannot be reached (\(NetworkError.words(of: error)))")
        }
    }

    /// Something that a person may open.
    private static func isPage(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return isPrintable(text) && (start.hasPrefix("https://") || start.hasPrefix("http://"))
    }

    /// Goes to a terminal.
    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.count <= 2048
            && text.unicodeScalars.allSatisfy {
                $0.properties.generalCategory != .control
                    && $0.properties.generalCategory != .format
            }
    }
}
