import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// A page of netproxy's own: one document without external resources.
///
/// Its policy allows its own style and script alone, by a nonce that is new for every answer. What it
/// shows is inserted as text.
struct HTMLPage {
    /// The title of the window.
    let title: String
    let style: String
    /// The content, as markup.
    let body: String
    /// Runs after the content was read; `nil` forbids scripts.
    var script: String?

    /// The answer with the page.
    func response(status: HTTPStatus) -> Response {
        let nonce = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }
            .joined()
        let scripts =
            script == nil ? "" : "script-src 'nonce-\(nonce)'; connect-src 'self'; "
        let policy =
            "default-src 'none'; \(scripts)style-src 'nonce-\(nonce)'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            ],
            body: .bytes(ByteSlice(document(nonce: nonce)))
        )
    }

    private func document(nonce: String) -> String {
        let script = script.map { "<script nonce=\"\(nonce)\">\n\($0)\n</script>\n" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(HTMLText.of(title))</title>
            <style nonce="\(nonce)">
            \(HTMLPage.colours)
            \(style)
            </style>
            </head>
            <body>
            \(body)
            \(script)</body>
            </html>

            """
    }

    /// The colours of all pages: each text has a contrast of 4.5:1 or more on its background.
    private static let colours = """
        :root { color-scheme: light dark; --page: #f6f7f8; --panel: #fff; --text: #1b1f24;
          --muted: #565e68; --line: #d3d8de; --link: #0a55a8; --good: #17652c; --warning: #7d4e00;
          --bad: #a40e26; --chosen: #e3effb }
        @media (prefers-color-scheme: dark) { :root { --page: #0f1318; --panel: #181e25;
          --text: #e7edf3; --muted: #a3afbb; --line: #343d47; --link: #86bdf7; --good: #77d98f;
          --warning: #f0b94a; --bad: #ff9b98; --chosen: #17324d } }
        * { box-sizing: border-box }
        body { margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
        code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace }
        """
}

/// Text between the tags of a page.
enum HTMLText {
    /// The text with references for what would be markup; no attribute's value.
    static func of(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
