import NetworkCore

/// The admin page at `/`: channels, tokens, and exchanges as they happen.
///
/// Its files are `page.html`, its stylesheets and its scripts, embedded in the program. The scripts read
/// `/status`, `/tail`, `/why` and `/har` and insert the data as text, so no path or error can become markup.
/// The daemon evaluates the conditions of the filter. Without scripts the page shows the same lines as
/// `netproxy status`.
enum AdminPage {
    /// Returns the response to `GET /`; browsers without scripts show the status.
    static func response(_ status: DaemonStatus) -> Response {
        page.response(
            status: 200,
            filling: ["{STATUS}": status.lines.joined(separator: "\n")]
        )
    }

    private static let page = HTMLPage(
        document: String(decoding: PackageResources.page_html, as: UTF8.self),
        embedding: [
            "shared.css": PackageResources.shared_css,
            "page.css": PackageResources.page_css,
            "tools.js": PackageResources.tools_js,
            "channels.js": PackageResources.channels_js,
            "exchanges.js": PackageResources.exchanges_js,
            "start.js": PackageResources.start_js,
        ]
    )
}
