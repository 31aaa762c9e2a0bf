import NetworkCore

/// The admin page at `/`: channels, tokens, and exchanges as they happen.
///
/// Its data comes from `/status`, `/tail`, `/why` and `/har`, and is only ever inserted as text, so that no
/// path or error can become markup. Conditions are judged by the daemon. Without scripts it shows the
/// escaped lines of `netproxy status`.
enum AdminPage {
    /// The answer to `GET /`.
    ///
    /// - Parameter status: what `netproxy status` prints, for browsers without scripts.
    /// - Returns: the page, with a policy for this answer alone.
    static func response(_ status: DaemonStatus) -> Response {
        let lines = HTMLText.of(status.lines.joined(separator: "\n"))
        return HTMLPage(
            title: "netproxy",
            style: AdminPageStyle.text,
            body: body.replacing("STATUS", with: lines),
            script: script
        )
        .response(status: 200)
    }

    private static let script = [
        PageScript.tools, ChannelScript.text, ExchangeScript.text, PageScript.start,
    ]
    .joined(separator: "\n")

    private static let body = """
        <a class="skip" href="#exchanges">Skip to the exchanges</a>
        <header>
        <h1>netproxy <small id="version"></small></h1>
        <p id="daemon"></p>
        <p id="configuration"></p>
        </header>
        <p id="gone" class="banner bad" role="alert" hidden></p>
        <div id="refusal" class="banner warning" role="alert" hidden></div>
        <noscript>
        <p>Without JavaScript this page does not update itself; reload it to see changes.</p>
        <pre>STATUS</pre>
        </noscript>
        <main id="live" hidden>
        <section aria-labelledby="channels-title">
        <h2 id="channels-title">Channels</h2>
        <div id="channels"></div>
        <svg id="chart" viewBox="0 0 120 34" preserveAspectRatio="none" aria-hidden="true" hidden></svg>
        </section>
        <section id="exchanges" aria-labelledby="exchanges-title" tabindex="-1">
        <h2 id="exchanges-title">Exchanges</h2>
        <form id="filter" role="search" aria-label="Exchanges">
        <div><label for="channel">Channel</label>
        <select id="channel"><option value="">all</option></select></div>
        <div class="wide"><label for="where">Where</label>
        <input id="where" type="text" autocomplete="off" autocapitalize="off" spellcheck="false"
        placeholder="status&gt;=400 path~/orders" aria-describedby="hint problem"></div>
        <div class="buttons"><button type="submit">Filter</button>
        <button type="button" id="clear">Clear</button>
        <button type="button" id="pause" aria-pressed="false">Pause</button>
        <a class="button" id="har" href="/har" download="netproxy.har">Download HAR</a></div>
        </form>
        <p id="hint" class="hint">Conditions as in <code>netproxy tail --where</code>, separated by
        spaces: <code>status&gt;=400</code>, <code>error</code>, <code>duration_ms&gt;250</code>,
        <code>path~/orders</code>. In the list, arrow keys move, Enter explains, Esc returns.</p>
        <p id="problem" class="bad" role="alert" hidden></p>
        <p id="count" class="hint" role="status"></p>
        <div id="panes">
        <div id="list">
        <table role="table" aria-labelledby="exchanges-title" aria-describedby="count">
        <caption class="hidden">The last exchanges and events, newest first</caption>
        <thead role="rowgroup"><tr role="row">
        <th role="columnheader" scope="col">Time</th>
        <th role="columnheader" scope="col">Channel</th>
        <th role="columnheader" scope="col">Status</th>
        <th role="columnheader" scope="col">Method</th>
        <th role="columnheader" scope="col">Path</th>
        <th role="columnheader" scope="col" class="number">ms</th>
        <th role="columnheader" scope="col">Remarks</th>
        </tr></thead>
        <tbody id="rows" role="rowgroup"></tbody>
        </table>
        <p id="none" class="hint">No exchange yet. Requests appear here as they end.</p>
        </div>
        <section id="why" aria-labelledby="why-title" hidden>
        <div class="heading"><h3 id="why-title" tabindex="-1"></h3>
        <button type="button" id="close">Close</button></div>
        <dl id="steps"></dl>
        <p id="why-problem" class="bad" role="alert" hidden></p>
        <div class="buttons"><button type="button" id="copy-text">Copy explanation</button>
        <button type="button" id="copy-curl">Copy as curl</button></div>
        <pre id="curl" tabindex="0" aria-label="The request as a curl command"></pre>
        <details><summary>Log record</summary><pre id="record" tabindex="0"></pre></details>
        </section>
        </div>
        </section>
        </main>
        <p id="said" class="hidden" role="status"></p>
        <footer>In a terminal: <code>netproxy status</code>, <code>netproxy tail</code>,
        <code>netproxy why ID</code>. For programs: <a href="/status">/status</a>,
        <a href="/metrics">/metrics</a></footer>
        """
}
