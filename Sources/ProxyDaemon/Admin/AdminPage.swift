import Bytes
import HTTPMessage
import NetworkCore

/// The admin page at `/`: channels, tokens, and exchanges as they happen.
///
/// One document without external resources. Its data comes from `/status` and `/tail` and is only ever
/// inserted as text, so that no path or error can become markup; the policy allows only its own
/// script and style, by a nonce that is new for every response. Without scripts it shows the escaped
/// lines of `netproxy status`.
enum AdminPage {
    /// The answer to `GET /`.
    ///
    /// - Parameter status: what `netproxy status` prints, for browsers without scripts.
    /// - Returns: the page, with a policy for this answer alone.
    static func response(_ status: DaemonStatus) -> Response {
        let nonce = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }
            .joined()
        let policy = """
            default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; \
            connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
        return Response(
            status: 200,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            ],
            body: .bytes(ByteSlice(document(nonce: nonce, status)))
        )
    }

    private static func document(nonce: String, _ status: DaemonStatus) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>netproxy</title>
        <style nonce="\(nonce)">\(style)</style>
        <h1>netproxy</h1>
        <noscript>
        <p>Without JavaScript this page does not update itself; reload it to see changes.</p>
        <pre>\(HTMLText.of(status.lines.joined(separator: "\n")))</pre>
        </noscript>
        <div id="live" hidden>
        <p id="daemon"></p>
        <table><thead><tr><th>channel<th>upstream<th>token<th>requests<th>errors<th>retries<th>pool
        </tr></thead><tbody id="channels"></tbody></table>
        <h2>Exchanges, as they happen</h2>
        <table><thead><tr><th>time<th>channel<th>status<th>method<th>path<th>ms<th>remarks<th>id
        </tr></thead><tbody id="exchanges"></tbody></table>
        </div>
        <p>More: <code>netproxy why ID</code>, <code>netproxy tail</code>, <code>netproxy status</code>,
        <a href="/status">/status</a>, <a href="/metrics">/metrics</a></p>
        <script nonce="\(nonce)">\(script)</script>
        </html>

        """
    }

    private static let style = """

        body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }
        table { border-collapse: collapse; width: 100% }
        th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884;
          vertical-align: top; overflow-wrap: anywhere }
        td { font-family: ui-monospace, monospace; font-size: 13px }
        .warning { color: #b36b00 } .error { color: #c0392b }

        """

    // Text goes in through textContent alone.
    private static let script = """

        'use strict';
        const limit = 200;
        const row = (body, cells, level, first) => {
          const line = document.createElement('tr');
          if (level === 'warning' || level === 'error') line.className = level;
          for (const cell of cells) {
            const field = document.createElement('td');
            field.textContent = cell === undefined || cell === null ? '' : String(cell);
            line.append(field);
          }
          if (first) body.prepend(line); else body.append(line);
        };
        const token = (t) => !t ? 'none needed' : [t.state,
          t.generation === undefined ? '' : 'generation ' + t.generation,
          t.expires_in_s === undefined ? '' : 'expires in ' + Math.round(t.expires_in_s) + ' s',
          t.last_error || ''].filter((part) => part).join(', ');
        async function status() {
          const place = document.getElementById('daemon');
          try {
            const answer = await fetch('/status');
            const s = await answer.json();
            place.textContent = s.state + (s.listen.length ? ' on ' + s.listen.join(', ') : '') +
              ' for ' + Math.round(s.uptime_s) + ' s, ' + s.connections + ' connections';
            const body = document.getElementById('channels');
            body.replaceChildren();
            for (const c of s.channels) {
              const upstreams = [c.upstream, ...(c.further_upstreams || [])].join(', then ');
              row(body, [c.name, upstreams, token(c.token), c.requests, c.errors, c.retries,
                c.pool.open + ' open, ' + c.pool.idle + ' idle, ' + c.pool.queued + ' waiting'],
                c.token && (c.token.state === 'dead' || c.token.state === 'failed') ? 'error' : '');
            }
          } catch (error) {
            place.textContent = 'the daemon does not answer';
          }
          setTimeout(status, 2000);
        }
        function show(text) {
          let r;
          try { r = JSON.parse(text); } catch (error) { return; }
          const body = document.getElementById('exchanges');
          const time = String(r.time).slice(11, 23) + 'Z';
          if (r.event === 'exchange') {
            const error = r.error && (r.detail ? r.error + ': ' + r.detail : r.error);
            const remarks = [error, r.aborted_by && 'aborted by ' + r.aborted_by,
              r.retries && 'retried: ' + r.retries.join(', ')].filter((part) => part).join('; ');
            row(body, [time, r.channel, r.status, r.method, r.path || r.host, r.duration_ms, remarks,
              r.request_id], r.level, true);
          } else {
            row(body, [time, r.channel, r.event, '', r.message, '', r.reason, ''], r.level, true);
          }
          while (body.rows.length > limit) body.deleteRow(limit);
        }
        async function tail() {
          try {
            const answer = await fetch('/tail');
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            let rest = '';
            for (;;) {
              const { value, done } = await reader.read();
              if (done) break;
              const lines = (rest + value).split('\\n');
              rest = lines.pop();
              lines.forEach(show);
            }
          } catch (error) { /* the daemon went away: ask again */ }
          setTimeout(tail, 2000);
        }
        document.getElementById('live').hidden = false;
        document.getElementById('daemon').textContent = 'asking …';
        status();
        tail();

        """
}

/// Text between the tags of a page.
enum HTMLText {
    /// The text with references for what would be markup; no attribute's value.
    static func of(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
