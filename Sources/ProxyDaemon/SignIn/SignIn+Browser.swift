import EventIO
import NetworkCore
import OAuth
import ProxyConfig
import Synchronization

extension SignIn {
    /// How long a sign-in with a browser may take.
    private static let browserLimit = Duration.seconds(300)

    /// Signs in through a browser on this machine (RFC 8252): prints the page to open and waits for
    /// the browser to come back, five minutes at most.
    ///
    /// - Throws: `Failure`, `CancellationError`.
    package func throughBrowser() async throws {
        try await prepare()
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
        let redirect = try await LoopbackRedirect(settings.redirect, on: loop) { query in
            await attempt.judge(query) { grant in
                let ending = await keep(grant)
                continuation.yield(ending)
                return ending
            } refused: { error in
                let ending = LoopbackRedirect.Ending.failed(error.description)
                continuation.yield(ending)
                return ending
            }
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
            page = try await flow.page(
                over: client.transport,
                clockOffset: client.service.clockOffset
            )
        } catch {
            await redirect.close()
            throw error
        }
        attempt.begin(flow)
        say("Open this page in a browser on this machine to sign in to \(channel.name):")
        say("")
        say("  \(page)")
        say("")
        var ending = await first(of: endings, within: Self.browserLimit)
        // A code that came at the last moment is used already, and its tokens are on their way.
        if ending == nil { ending = await attempt.ending() }
        // The last page is on its way; the browser gets it unless it has gone.
        if ending != nil { _ = await first(of: shown, within: .seconds(2)) }
        await redirect.close()
        switch ending {
        case .signedIn: return
        case .failed(let words): throw SignInError(words)
        case nil:
            try Task.checkCancellation()
            throw SignInError("no sign-in was completed within 5 minutes")
        }
    }

    /// Presents the code, once, and stores the tokens.
    @Sendable private func keep(_ grant: TokenGrant) async -> LoopbackRedirect.Ending {
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
            return .failed(error.detail)
        } catch {
            return .failed("\(error)")
        }
    }

    /// Returns the first element; `nil` if none comes in time.
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
}

/// One sign-in through a browser, which takes one answer.
private final class BrowserAttempt: Sendable {
    private typealias Ending = LoopbackRedirect.Ending
    private let state = Mutex<(flow: AuthorizationCodeFlow?, ending: Task<Ending, Never>?)>(
        (nil, nil)
    )

    /// Expects the answers of this flow from now on.
    func begin(_ flow: AuthorizationCodeFlow) {
        state.withLock { $0.flow = flow }
    }

    /// How the sign-in ends; `nil` if no code has come.
    func ending() async -> LoopbackRedirect.Ending? {
        await state.withLock(\.ending)?.value
    }

    /// Checks a query; a code is presented once, however often the browser sends it, and each time the
    /// browser is shown the outcome.
    func judge(
        _ query: String,
        present: @escaping @Sendable (TokenGrant) async -> LoopbackRedirect.Ending,
        refused: @escaping @Sendable (SignInError) -> LoopbackRedirect.Ending
    ) async -> LoopbackRedirect.Ending? {
        let ending: Task<Ending, Never>? = state.withLock { state in
            guard let flow = state.flow else { return nil }
            let answer = flow.answer(query)
            if case .foreign = answer { return nil }
            if let ending = state.ending { return ending }
            // Not part of the connection's task: if the browser went away, the code would be used and its
            // tokens lost.
            let ending = Task<Ending, Never> {
                switch answer {
                case .grant(let grant): await present(grant)
                case .refused(let error): refused(error)
                case .foreign: .failed("")
                }
            }
            state.ending = ending
            return ending
        }
        return await ending?.value
    }
}
