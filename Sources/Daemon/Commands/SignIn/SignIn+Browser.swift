import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetworkCore
import OAuth
import Synchronization

extension SignIn {
    /// The maximum duration of a sign-in with a browser.
    private static let browserLimit = Duration.seconds(300)

    /// Signs in through a browser on this machine (RFC 8252).
    ///
    /// Opens or prints the page, and waits at most five minutes for the browser to return.
    ///
    /// - Parameters:
    ///   - opener: opens the page; without one, the user opens it.
    ///   - pasted: the lines that the user enters. If the browser runs on another machine, the user pastes
    ///     the address of its last page.
    /// - Throws: `Failure`, `CancellationError`.
    package func throughBrowser(
        _ opener: BrowserOpener? = nil,
        pasted: AsyncStream<String>? = nil
    ) async throws {
        try await prepare()
        do {
            let server = try await client.server(needing: \.authorizationEndpoint)
            try await throughBrowser(server, opener, pasted)
        } catch let error as MetadataError {
            throw Failure(description: error.description)
        } catch let error as IOError {
            throw Failure(description: "\(error)")
        } catch let error as SignInError {
            throw Failure(description: error.description, serverError: error.serverError)
        }
    }

    private func throughBrowser(
        _ server: ServerMetadata,
        _ opener: BrowserOpener?,
        _ pasted: AsyncStream<String>?
    ) async throws {
        let (endings, continuation) = AsyncStream<SignInPage.Ending>.makeStream()
        let (shown, shownContinuation) = AsyncStream<Void>.makeStream()
        let attempt = BrowserAttempt(channel: credential.name, say: say)
        let judge: LoopbackRedirect.Judge = { query in
            await attempt.judge(query) { grant in
                let ending = await keep(grant, attempt)
                continuation.yield(ending)
                return ending
            } refused: { error in
                let ending = attempt.failed(error.description, code: error.serverError)
                continuation.yield(ending)
                return ending
            }
        }
        let redirect = try await LoopbackRedirect(
            client.settings.redirect,
            showing: SignInPage(
                channel: credential.name,
                server: server.authorizationEndpoint?.origin.authority ?? ""
            ),
            on: loop,
            judge: judge
        ) {
            shownContinuation.yield()
        }
        let flow = AuthorizationCodeFlow(
            server: server,
            configuration: asked,
            redirect: redirect.uri
        )
        let page: String
        do {
            page = try await flow.page(
                over: client.transport,
                clockOffset: client.service.clockOffset
            )
        } catch {
            await redirect.close()
            throw error
        }
        attempt.begin(flow, redirect: redirect.uri)
        show(page, opener)
        let reading = pasted.map { lines in
            Task { await read(lines, judge) { shownContinuation.yield() } }
        }
        defer { reading?.cancel() }
        var ending = await first(of: endings, within: Self.browserLimit)
        // A code that arrived at the last moment has been used, and its tokens are about to arrive.
        if ending == nil { ending = await attempt.ending() }
        // The browser is receiving the last page; wait for it briefly.
        if ending != nil { _ = await first(of: shown, within: .seconds(2)) }
        await redirect.close()
        switch ending {
        case .signedIn: return
        case .failed(let failure): throw SignInError(failure.description, code: failure.code)
        case nil:
            try Task.checkCancellation()
            throw SignInError("no sign-in was completed within 5 minutes")
        }
    }

    private func show(_ page: String, _ opener: BrowserOpener?) {
        if let opener, opener.open(page) {
            say("Your browser opens this page to sign in to \(credential.name); if not, open it:")
        } else {
            say("Open this page in a browser on this machine to sign in to \(credential.name):")
        }
        say("")
        say("  \(page)")
        say("")
    }

    /// Accepts the address at which a browser on another machine ended, like the browser's own request.
    private func read(
        _ lines: AsyncStream<String>,
        _ judge: LoopbackRedirect.Judge,
        onEnding: () -> Void
    ) async {
        say("If that browser runs on another machine, paste the address here at which it ended.")
        for await line in lines {
            let address = line.trimmingPrefix { $0.isWhitespace }.prefix { !$0.isWhitespace }
            guard !address.isEmpty else { continue }
            guard let mark = address.firstIndex(of: "?") else {
                say("That is not the address at which the browser ended: it has no query.")
                continue
            }
            let query = address[address.index(after: mark)...].prefix { $0 != "#" }
            if case .ending = await judge(String(query)) { return onEnding() }
        }
    }

    /// Exchanges the code, once, and stores the tokens.
    private func keep(_ grant: TokenGrant, _ attempt: BrowserAttempt) async -> SignInPage.Ending {
        do {
            let asked = SystemClock().moment
            let response = try await client.service.tokens(
                for: grant,
                configuration: client.configuration,
                deadline: asked.steady + client.configuration.requestTimeout
            )
            try await store(response, asked: asked.wall)
            return .signedIn
        } catch let error as TokenFailure {
            return attempt.failed(error.detail, code: error.serverError)
        } catch {
            return attempt.failed("\(error)", code: nil)
        }
    }

    /// Returns the first element, or `nil` if none arrives in time.
    private func first<Element: Sendable>(
        of stream: AsyncStream<Element>,
        within limit: Duration
    ) async -> Element? {
        await withTaskGroup(of: Element?.self) { group in
            group.addTask { await stream.first { _ in true } }
            group.addTask {
                // Canceling the sleep also ends the wait.
                do { try await Task.sleep(for: limit) } catch {}
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}

/// One sign-in through a browser, which accepts one response.
private final class BrowserAttempt: Sendable {
    private typealias Ending = SignInPage.Ending

    private struct State {
        var flow: AuthorizationCodeFlow?
        var redirect = ""
        var ending: Task<SignInPage.Ending, Never>?
        /// The kinds of foreign requests reported so far; each is reported once, since any web page can send
        /// them.
        var told: Set<String> = []
    }

    private let channel: String
    private let say: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(channel: String, say: @escaping @Sendable (String) -> Void) {
        self.channel = channel
        self.say = say
    }

    /// Accepts the responses of this flow from now on.
    func begin(_ flow: AuthorizationCodeFlow, redirect: String) {
        state.withLock { ($0.flow, $0.redirect) = (flow, redirect) }
    }

    /// Returns the outcome of the sign-in, or `nil` if no code has arrived.
    func ending() async -> SignInPage.Ending? {
        await state.withLock(\.ending)?.value
    }

    /// Returns the outcome of a failed sign-in.
    func failed(_ words: String, code: String?) -> SignInPage.Ending {
        let redirect = state.withLock(\.redirect)
        return .failed(SignInFailure(words, code: code, channel: channel, redirect: redirect))
    }

    /// Checks a query.
    ///
    /// A code is exchanged once, even if the browser sends it repeatedly; each request shows the outcome.
    func judge(
        _ query: String,
        present: @escaping @Sendable (TokenGrant) async -> SignInPage.Ending,
        refused: @escaping @Sendable (SignInError) -> SignInPage.Ending
    ) async -> LoopbackRedirect.Verdict {
        guard let flow = state.withLock(\.flow) else { return .stray("it came too early") }
        let work: @Sendable () async -> SignInPage.Ending
        switch flow.answer(query) {
        case .foreign(let words):
            tell(words)
            return .stray(words)
        case .grant(let grant): work = { await present(grant) }
        case .refused(let error): work = { refused(error) }
        }
        let ending = state.withLock { state in
            if let ending = state.ending { return ending }
            // This task is independent of the connection's task: if the browser disconnected, the code would
            // be used and its tokens lost.
            let ending = Task<Ending, Never> { await work() }
            state.ending = ending
            return ending
        }
        return .ending(await ending.value)
    }

    private func tell(_ words: String) {
        // The kind of the request; the text after the comma is arbitrary.
        let kind = String(words.prefix { $0 != "," })
        guard state.withLock({ $0.told.insert(kind).inserted }) else { return }
        say(
            "A request came back that does not belong to this sign-in: \(words). It was ignored; still "
                + "waiting. If it was yours, stop with Ctrl-C and run netproxy login \(channel) again."
        )
    }
}
