import NetproxyHTTPMessage
import NetworkCore

/// Decides whether the requests of a browser may use a channel.
///
/// Browsers send `Sec-Fetch-*` to the loopback names listed in `Authority.isLoopbackName`, and `Origin`
/// with every request whose response a page could read. A channel with a credential refuses both unless
/// `access.origins` lists the page, since even a request with an unread response has an effect on the API.
package struct WebPagePolicy: Sendable {
    /// The access that a page gains if it is admitted.
    package enum Stake: Sendable {
        /// The channel adds a credential.
        case credential
        /// The channel adds nothing to the client's request.
        case nothing
    }

    /// The entry of `access.origins` that admits pages opened by the user.
    static let ownNavigation = "none"

    private static let metadata: [KnownField] = [
        .secFetchSite, .secFetchMode, .secFetchDest,
    ]
    private static let signs = KnownFieldSet(
        .origin,
        .secFetchSite,
        .secFetchMode,
        .secFetchDest
    )

    private let origins: [String]
    private let stake: Stake
    private let admitsNavigation: Bool

    init(origins: [String] = [], stake: Stake = .nothing) {
        self.origins = origins.filter { $0 != WebPagePolicy.ownNavigation }
        self.stake = stake
        admitsNavigation = origins.contains(WebPagePolicy.ownNavigation)
    }

    /// Whether the policy admits any web page.
    var listsOrigins: Bool { !origins.isEmpty }

    /// Whether the fields of a browser show that a web page sent the request.
    static func isWebPage(_ headers: HTTPHeaders) -> Bool {
        headers.contains(KnownField.origin)
            || headers.values(of: .secFetchSite).contains { $0 != "none" }
    }

    /// Returns the listed origin of the page that sends the request; `nil` for all other requests.
    func listedOrigin(of headers: HTTPHeaders) -> String? {
        guard !origins.isEmpty, headers.contains(KnownField.origin) else { return nil }
        let named = headers.values(of: .origin)
        guard named.count == 1, let origin = named.first, origins.contains(origin) else {
            return nil
        }
        return origin
    }

    /// Refuses a browser's request unless `access.origins` admits it.
    ///
    /// - Throws: `http_request_denied` with 403.
    func check(_ headers: HTTPHeaders) throws(NetworkError) {
        guard !headers.knownFields.isDisjoint(with: WebPagePolicy.signs) else { return }
        let named = headers.values(of: .origin)
        guard named.isEmpty else {
            guard named.allSatisfy(origins.contains) else {
                // Omit the value: the detail is always logged, but a field only if `log.headers` names it.
                throw WebPagePolicy.denied(
                    "the request's Origin (a web page) is not listed in access.origins"
                )
            }
            return
        }
        switch stake {
        case .nothing:
            guard WebPagePolicy.isWebPage(headers) else { return }
            throw WebPagePolicy.denied("requests from web pages are not allowed")
        case .credential:
            if WebPagePolicy.isScript(headers) { return }
            guard WebPagePolicy.isNavigation(headers) else {
                throw WebPagePolicy.denied("requests from web pages are not allowed")
            }
            guard admitsNavigation else {
                throw WebPagePolicy.denied(
                    "a link or redirect may have led the browser here; to open this channel in a "
                        + "browser, add none to access.origins"
                )
            }
        }
    }

    /// Whether a user opened the address by typing it or by following a link from outside the browser.
    ///
    /// A redirect after such a link looks the same.
    private static func isNavigation(_ headers: HTTPHeaders) -> Bool {
        headers.values(of: .secFetchSite) == ["none"]
            && headers.values(of: .secFetchMode).allSatisfy { $0 == "navigate" }
            && headers.values(of: .secFetchDest).allSatisfy { $0 == "document" }
    }

    /// Whether `Sec-Fetch-Mode: cors` stands alone, as in requests of Node's `fetch`.
    ///
    /// Browsers also send `Sec-Fetch-Site` and `Sec-Fetch-Dest` (W3C Fetch Metadata §5), and `Origin`
    /// unless the site is the same.
    private static func isScript(_ headers: HTTPHeaders) -> Bool {
        metadata.filter { headers.contains($0) } == [.secFetchMode]
            && headers.values(of: .secFetchMode) == ["cors"]
    }

    private static func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
