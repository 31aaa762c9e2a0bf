import EventIO
import NetworkCore
package import ProxyConfig
import Synchronization

/// Signs a person in to a channel, and out: what `netproxy login` and `logout` do.
///
/// Works with or without a running daemon, and writes through the same store under its lock.
package struct SignIn: Sendable {
    /// Something a person can act on.
    package struct Failure: Error, CustomStringConvertible {
        /// One clause, without secrets.
        package let description: String
    }

    /// How long a person has for signing in with a browser.
    private static let browserLimit = Duration.seconds(300)

    private let channel: ChannelConfiguration
    private let settings: OAuthSettings
    private let client: OAuthClient
    private let loop: EventLoop
    private let say: @Sendable (String) -> Void

    /// Reads a channel's secrets and prepares to speak for its client.
    ///
    /// - Parameters:
    ///   - name: the channel's name.
    ///   - configuration: where it is configured.
    ///   - environment: the variables that secrets are looked up in.
    ///   - say: prints a line for the person.
    /// - Throws: `Failure`.
    package init(
        _ name: String,
        of configuration: ProxyConfiguration,
        environment: [String: String],
        say: @escaping @Sendable (String) -> Void
    ) async throws {
        guard let channel = configuration.channels.first(where: { $0.name == name }) else {
            throw Failure(description: "there is no channel \(name)")
        }
        guard case .oauth(let settings) = channel.authentication else {
            throw Failure(description: "the channel \(name) has no auth.oauth")
        }
        do {
            loop = try EventLoop(index: 97)
            loop.start()
            let assembly = try OAuthAssembly(
                configuration,
                secrets: SecretResolver(environment: environment),
                loop: loop
            )
            client = try await assembly.client(settings, of: channel)
        } catch {
            throw Failure(description: "channel \(name): \(error)")
        }
        SignalSource.ignoreBrokenPipes()
        self.channel = channel
        self.settings = settings
        self.say = say
    }

    /// Whether a person signs in on another device where nothing else is said.
    package var prefersDevice: Bool { settings.grant == .deviceCode }

    /// Ends what runs in the background; nothing else may be called after it.
    package func close() { loop.stop() }

    /// Refuses a sign-in where none is of any use.
    private func checkGrant() throws {
        switch settings.grant {
        case .authorizationCode, .deviceCode, .refreshToken: return
        case .clientCredentials, .jwtBearer, .tokenExchange:
            throw Failure(
                description: "the channel \(channel.name) gets its tokens by "
                    + "\(settings.grant.rawValue): nobody signs in"
            )
        }
    }

    // MARK: - In

    /// Signs in through a browser on this machine (RFC 8252): prints the page to open and waits for
    /// the browser to come back, five minutes at most.
    ///
    /// - Throws: `Failure`, `CancellationError`.
    package func throughBrowser() async throws {
        try checkGrant()
        do {
            let server = try await client.server(needing: \.authorizationEndpoint)
            try await throughBrowser(server)
        } catch let error as MetadataError {
            throw Failure(description: error.description)
        } catch let error as IOError {
            throw Failure(description: "\(error)")
        } catch let error as SignInError {
            throw Failure(description: error.description)
        }
    }

    private func throughBrowser(_ server: ServerMetadata) async throws {
        let (endings, continuation) = AsyncStream<LoopbackRedirect.Ending>.makeStream()
        let (shown, shownContinuation) = AsyncStream<Void>.makeStream()
        let attempt = BrowserAttempt()
        let redirect = try await LoopbackRedirect(port: settings.redirectPort, on: loop) { query in
            guard let ending = await attempt.judge(query, keep) else { return nil }
            continuation.yield(ending)
            return ending
        } onShown: {
            shownContinuation.yield()
        }
        let flow = AuthorizationCodeFlow(
            server: server,
            configuration: client.configuration,
            redirect: redirect.uri
        )
        let page: String
        do {
            page = try flow.page()
        } catch {
            await redirect.close()
            throw error
        }
        attempt.begin(flow)
        say("Open this page in a browser on this machine to sign in to \(channel.name):")
        say("")
        say("  \(page)")
        say("")
        let ending = await first(of: endings, within: Self.browserLimit)
        // The last page is on its way; the browser gets it unless it has gone.
        if ending != nil { _ = await first(of: shown, within: .seconds(2)) }
        await redirect.close()
        switch ending {
        case .signedIn: return
        case .failed(let words): throw SignInError(words)
        case nil:
            try Task.checkCancellation()
            throw SignInError("nobody signed in within 5 minutes")
        }
    }

    /// Presents the code, once, and keeps what comes of it.
    @Sendable private func keep(_ grant: TokenGrant) async -> LoopbackRedirect.Ending {
        do {
            let asked = SystemClock().moment
            let response = try await client.service.tokens(
                for: grant,
                configuration: client.configuration,
                deadline: asked.steady + client.configuration.requestTimeout
            )
            try await store(response, asked: asked)
            return .signedIn
        } catch let error as TokenFailure {
            return .failed(error.detail)
        } catch {
            return .failed("\(error)")
        }
    }

    /// Signs in on another device (RFC 8628): prints the page and the code, and polls.
    ///
    /// - Throws: `Failure`, `CancellationError`.
    package func onAnotherDevice() async throws {
        try checkGrant()
        do {
            let flow = DeviceFlow(
                service: client.service,
                transport: client.transport,
                server: try await client.server(needing: \.deviceEndpoint),
                configuration: client.configuration
            )
            let code = try await flow.begin()
            say(
                "To sign in to \(channel.name), open \(code.page) on any device and enter the code:"
            )
            say("")
            say("  \(code.userCode)")
            say("")
            if let page = code.completePage { say("Or open \(page) and compare the code.") }
            say("The code is good for \(code.lifetime.components.seconds / 60) minutes.")
            let asked = SystemClock().moment
            try await store(try await flow.tokens(for: code), asked: asked)
        } catch let error as MetadataError {
            throw Failure(description: error.description)
        } catch let error as SignInError {
            throw Failure(description: error.description)
        }
    }

    private func store(_ response: TokenResponse, asked: Moment) async throws {
        do {
            try await client.store.keepSignIn(
                response,
                configuration: client.configuration,
                asked: asked.wall
            )
        } catch let error as TokenStoreError {
            throw SignInError("the tokens cannot be stored: \(error)")
        }
        if response.refreshToken == nil {
            say(
                "The server gave no refresh token: when this token ends, somebody must sign in again."
            )
        }
    }

    /// The first element, or nothing if none comes in time.
    private func first<Element: Sendable>(
        of stream: AsyncStream<Element>,
        within limit: Duration
    ) async -> Element? {
        await withTaskGroup(of: Element?.self) { group in
            group.addTask { await stream.first { _ in true } }
            group.addTask {
                // A cancelled sleep ends the wait just as well.
                do { try await Task.sleep(for: limit) } catch {}
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    // MARK: - Out

    /// Revokes what is stored (RFC 7009); what is stored stays where it is.
    ///
    /// - Returns: what became of it, for the person.
    /// - Throws: `Failure` if what is stored cannot be read.
    package func revoke() async throws -> [String] {
        let record: TokenRecord?
        do {
            record = try await client.store.load()
        } catch {
            throw Failure(description: "the stored tokens cannot be read: \(error)")
        }
        guard let record else { return ["Nobody was signed in to \(channel.name)."] }
        guard record.authority == client.configuration.authority else {
            return ["The stored tokens belong to another client or server; they are not revoked."]
        }
        let server: ServerMetadata
        do {
            server = try await client.server(needing: \.revocationEndpoint)
        } catch {
            return ["The tokens were not revoked: \(error)."]
        }
        let revocation = Revocation(
            transport: client.transport,
            server: server,
            configuration: client.configuration
        )
        var lines: [String] = []
        if let token = record.refreshToken {
            lines.append(sentence("refresh token", await revocation.revoke(token, .refreshToken)))
        }
        for kept in record.accessTokens.values {
            lines.append(
                sentence("access token", await revocation.revoke(kept.value, .accessToken))
            )
        }
        return lines
    }

    private func sentence(_ name: String, _ outcome: Revocation.Outcome) -> String {
        switch outcome {
        case .revoked: "The server has revoked the \(name)."
        case .notOffered:
            "The server names no place to revoke the \(name) at: it is good until it ends."
        case .kindNotOffered: "The server does not revoke the \(name): it is good until it ends."
        case .failed(let words): "The \(name) was not revoked: \(words)."
        }
    }

    /// Removes what is stored.
    ///
    /// - Throws: `Failure`.
    package func forget() async throws {
        do {
            try await client.store.forgetSignIn()
        } catch {
            throw Failure(description: "the stored tokens cannot be removed: \(error)")
        }
    }

    // MARK: - Looking

    /// The access token that is stored for the channel, if it has not ended.
    ///
    /// - Throws: `Failure` that says what is there instead.
    package func accessToken() async throws -> String {
        let record: TokenRecord?
        do {
            record = try await client.store.load()
        } catch {
            throw Failure(description: "the stored tokens cannot be read: \(error)")
        }
        guard let record, record.authority == client.configuration.authority,
            let kept = record.accessTokens[client.configuration.credentialKey]
        else { throw Failure(description: "no token of \(channel.name) is stored") }
        if let end = kept.expiresAt, end < SystemClock().wallNow {
            throw Failure(description: "the stored token of \(channel.name) has ended")
        }
        return kept.value.reveal()
    }
}

/// One sign-in through a browser, which takes one answer.
private final class BrowserAttempt: Sendable {
    private let state = Mutex<(flow: AuthorizationCodeFlow?, isAnswered: Bool)>((nil, false))

    /// From now on answers are for this flow.
    func begin(_ flow: AuthorizationCodeFlow) {
        state.withLock { $0.flow = flow }
    }

    /// Judges a query; a code is presented once, however often the browser sends it.
    func judge(
        _ query: String,
        _ present: @Sendable (TokenGrant) async -> LoopbackRedirect.Ending
    ) async -> LoopbackRedirect.Ending? {
        let answer: AuthorizationCodeFlow.Answer? = state.withLock { state in
            guard let flow = state.flow, !state.isAnswered else { return nil }
            let answer = flow.answer(query)
            if case .foreign = answer { return nil }
            state.isAnswered = true
            return answer
        }
        switch answer {
        case nil, .foreign: return nil
        case .refused(let error): return .failed(error.description)
        case .grant(let grant): return await present(grant)
        }
    }
}
