import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// Decides whether the requests of a browser may use a channel.
///
/// Browsers send `Sec-Fetch-*` to the loopback names listed in `Authority.isLoopbackName`, and `Origin`
/// with every request whose response a page could read. Older browsers send a `Referer`. A channel with a
/// credential refuses each of them unless `access.origins` lists the page, since even a request with an unread
/// response has an effect on the API.
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

    private static let signs = KnownFieldSet(
        .origin,
        .referer,
        .secFetchSite,
        .secFetchMode,
        .secFetchDest
    )
    /// The modes that the `fetch` and the `WebSocket` of a program can have (WHATWG Fetch §2.2.5, §5.4).
    ///
    /// `navigate` and later modes belong to browsers. A browser never sends a mode alone: `Sec-Fetch-Site` and
    /// `Sec-Fetch-Dest` come with it (W3C Fetch Metadata §5).
    private static let programModes: Set<String> = ["cors", "no-cors", "same-origin", "websocket"]

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

    /// Whether the fields of a browser show that a web page sent the request, and not its user.
    static func isWebPage(_ headers: HTTPHeaders, at host: Authority?) -> Bool {
        guard hasSigns(headers) else { return false }
        if headers.contains(KnownField.origin) { return true }
        return headers.contains(KnownField.secFetchSite)
            ? headers.values(of: .secFetchSite).contains { $0 != "none" }
            : !isProgram(headers, at: host, listing: [])
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
    /// - Parameters:
    ///   - headers: the fields of the request.
    ///   - host: the authority of the request.
    ///   - rule: the rule that chose the channel.
    /// - Throws: `http_request_denied` with 403.
    func check(
        _ headers: HTTPHeaders,
        at host: Authority?,
        by rule: RoutingRule = .path
    ) throws(NetworkError) {
        guard WebPagePolicy.hasSigns(headers) else { return }
        if stake == .nothing, WebPagePolicy.isOwnPage(headers, at: host, by: rule) { return }
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
        if WebPagePolicy.isProgram(headers, at: host, listing: origins) { return }
        switch stake {
        case .nothing:
            guard WebPagePolicy.isWebPage(headers, at: host) else { return }
            throw WebPagePolicy.denied("requests from web pages are not allowed")
        case .credential:
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

    /// Whether a request has any field that can be a sign of a web page.
    @inline(__always)
    private static func hasSigns(_ headers: HTTPHeaders) -> Bool {
        !headers.knownFields.isDisjoint(with: signs) || headers.containsOther(where: isOfBrowsers)
    }

    /// Whether only browsers set a field: scripts and libraries cannot set `Sec-` (WHATWG Fetch §2.2.2), except
    /// in the handshake of a WebSocket.
    private static func isOfBrowsers(_ name: Span<UInt8>) -> Bool {
        guard name.count > 4, name.equals("sec-", in: 0..<4) else { return false }
        return name.count < 14 || !name.equals("sec-websocket-", in: 0..<14)
    }

    /// Whether a user opened the address by typing it or by following a link from outside the browser.
    ///
    /// A redirect after such a link looks the same.
    private static func isNavigation(_ headers: HTTPHeaders) -> Bool {
        headers.values(of: .secFetchSite) == ["none"]
            && headers.values(of: .secFetchMode).allSatisfy { $0 == "navigate" }
            && headers.values(of: .secFetchDest).allSatisfy { $0 == "document" }
    }

    /// Whether no browser sends such a request: without `Origin`, with no field of browsers but the mode of a
    /// program, and not from a page elsewhere.
    ///
    /// Old browsers send only a `Referer` with the request for a picture.
    private static func isProgram(
        _ headers: HTTPHeaders,
        at host: Authority?,
        listing origins: [String]
    ) -> Bool {
        guard
            headers.knownFields.isDisjoint(
                with: KnownFieldSet(.origin, .secFetchSite, .secFetchDest)
            ), !headers.containsOther(where: isOfBrowsers)
        else { return false }
        return headers.values(of: .secFetchMode).allSatisfy(programModes.contains)
            && headers.values(of: .referer).allSatisfy { referer in
                // A relative reference names no other page (RFC 9110 §10.1.3).
                guard !referer.hasPrefix("/") || referer.hasPrefix("//") else { return true }
                let parts = referer.split(
                    separator: "/",
                    maxSplits: 3,
                    omittingEmptySubsequences: false
                )
                guard parts.count >= 3, parts[1].isEmpty else { return false }
                let origin = "\(parts[0])//\(parts[2])"
                return parts[0] == "http:" && host.map { "\($0)" } == parts[2].lowercased()
                    || origins.contains(origin)
            }
    }

    /// Whether a page of the same origin sent the request, and the origin is the channel's alone.
    ///
    /// Channels that are reached by path share an origin with others.
    private static func isOwnPage(
        _ headers: HTTPHeaders,
        at host: Authority?,
        by rule: RoutingRule
    ) -> Bool {
        switch rule {
        case .host, .listener: break
        case .path, .upstream: return false
        }
        return headers.values(of: .secFetchSite) == ["same-origin"]
            && headers.values(of: .origin).allSatisfy { origin in
                host.map { "http://\($0)" } == origin
            }
    }

    private static func denied(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: 403)
    }
}
