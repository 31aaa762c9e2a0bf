import NetproxyHTTPMessage
import NetproxyService
import NetworkCore

/// The page that a browser shows after a sign-in, without scripts, images or links.
struct SignInPage: Sendable {
    /// The channel to sign in to.
    let channel: String
    /// The authorization server's name.
    let server: String

    /// The outcome of a sign-in.
    enum Ending: Sendable {
        case signedIn
        case failed(SignInFailure)
    }

    /// Returns the page for the end of the sign-in.
    func response(_ ending: Ending) -> Response {
        switch ending {
        case .signedIn:
            response(
                200,
                .good,
                title: "You are signed in.",
                next: "Close this page and return to the terminal."
            )
        case .failed(let failure):
            response(
                502,
                .bad,
                title: "The sign-in failed.",
                what: failure.words,
                next: failure.advice
            )
        }
    }

    /// Returns the page for a request that does not belong to the sign-in.
    func stray(_ status: HTTPStatus, _ what: String) -> Response {
        response(
            status,
            .warning,
            title: "This is not the answer to the sign-in.",
            what: what,
            next: "Open the page that the terminal names. netproxy still waits for it."
        )
    }

    /// The symbol for an outcome, in addition to its text.
    private enum Look: String {
        case good = "✓"
        case bad = "✕"
        case warning = "▲"
    }

    private func response(
        _ status: HTTPStatus,
        _ look: Look,
        title: String,
        what: String? = nil,
        next: String
    ) -> Response {
        let what = what.map { "<dt>What happened</dt><dd>\(HTMLText.of($0))</dd>" } ?? ""
        return HTMLPage(
            title: "\(look.rawValue) netproxy: \(title)",
            style: SignInPage.style,
            body: """
                <main>
                <p class="mark \(look)" aria-hidden="true">\(look.rawValue)</p>
                <h1>\(HTMLText.of(title))</h1>
                <dl>
                <dt>Channel</dt><dd>\(HTMLText.of(channel))</dd>
                <dt>Server</dt><dd>\(HTMLText.of(server))</dd>
                \(what)
                <dt>Next</dt><dd>\(HTMLText.of(next))</dd>
                </dl>
                <footer>netproxy</footer>
                </main>
                """
        )
        .response(status: status)
    }

    private static let style = """
        main { max-width: 34rem; margin: 12vh auto 2rem; padding: 1.5rem; background: var(--panel);
          border: 1px solid var(--line); border-radius: 10px }
        @media (max-width: 36rem) { main { margin: 0; border: 0; border-radius: 0; min-height: 100vh } }
        h1 { font-size: 1.4rem; margin: .2rem 0 1rem }
        dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .5rem 1rem;
          margin: 0 }
        dt { color: var(--muted) } dd { margin: 0; overflow-wrap: anywhere }
        @media (max-width: 26rem) { dl { display: block } dd { margin-bottom: .6rem } }
        .mark { font-size: 2.2rem; line-height: 1; margin: 0 } footer { color: var(--muted);
          margin-top: 1.5rem; font-size: .87rem }
        .good { color: var(--good) } .bad { color: var(--bad) } .warning { color: var(--warning) }
        """
}
