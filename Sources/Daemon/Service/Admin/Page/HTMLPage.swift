import NetproxyBytes
package import NetproxyHTTPMessage
package import NetworkCore

/// A page of netproxy: one document without external resources.
///
/// Its Content-Security-Policy allows only the page's own styles and scripts, by a nonce that is new in
/// every response. Data is inserted as text.
package struct HTMLPage {
    /// The document, with `nonceMark` for the nonce of a response.
    private let document: String

    /// The mark that each response replaces with its nonce.
    private static let nonceMark = "{NONCE}"

    /// Creates a page from a document that links to stylesheets and scripts, and embeds these files.
    ///
    /// - Parameters:
    ///   - document: HTML in which each link stands on a line of its own, as in `page.html`.
    ///   - files: the contents of the linked files by name.
    package init(document: String, embedding files: [String: [UInt8]]) {
        var document = document
        for (name, bytes) in files {
            let text = String(decoding: bytes, as: UTF8.self)
            document.replace(
                "<link rel=\"stylesheet\" href=\"\(name)\">",
                with: "<style nonce=\"\(Self.nonceMark)\">\n\(text)</style>"
            )
            document.replace(
                "<script src=\"\(name)\"></script>",
                with: "<script nonce=\"\(Self.nonceMark)\">\n\(text)</script>"
            )
        }
        self.document = document
    }

    /// Creates a page without scripts.
    ///
    /// - Parameters:
    ///   - title: the title of the window, as text.
    ///   - style: CSS in addition to the style of all pages.
    ///   - body: HTML.
    package init(title: String, style: String, body: String) {
        self.init(
            document: """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>\(HTMLText.of(title))</title>
                <link rel="stylesheet" href="shared.css">
                <style nonce="\(Self.nonceMark)">
                \(style)
                </style>
                </head>
                <body>
                \(body)
                </body>
                </html>

                """,
            embedding: ["shared.css": PackageResources.shared_css]
        )
    }

    /// Returns a response with this page and a new nonce; replaces each mark in `texts` with its escaped
    /// text.
    package func response(status: HTTPStatus, filling texts: [String: String] = [:]) -> Response {
        let nonce = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }
            .joined()
        let scripts =
            document.contains("<script ")
            ? "script-src 'nonce-\(nonce)'; connect-src 'self'; " : ""
        let policy =
            "default-src 'none'; \(scripts)style-src 'nonce-\(nonce)'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        // Replace the nonce first: a text that contains its mark must not reveal it.
        var page = document.replacing(Self.nonceMark, with: nonce)
        for (mark, text) in texts { page.replace(mark, with: HTMLText.of(text)) }
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            ],
            body: .bytes(ByteSlice(page))
        )
    }
}

/// Text between the tags of a page.
package enum HTMLText {
    /// Returns the text with markup characters escaped; not suitable for attribute values.
    package static func of(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
