import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The protocols to which a client offers to switch (RFC 9110 §7.8).
enum UpgradeOffer {
    /// Returns the `Upgrade` value to forward; `nil` if the request offers no upgrade that can be
    /// tunneled.
    ///
    /// HTTP itself is excluded: an `h2c` tunnel would carry requests past every rule of the channel.
    /// Java's client offers it with each request, so it is ignored rather than refused.
    ///
    /// - Throws: `http_request_error` if the request has content, since the end of the content and the
    ///   start of the tunnel could be confused.
    static func protocols(of head: RequestHead) throws(NetworkError) -> String? {
        // RFC 9110 §7.8: ignore an `Upgrade` in HTTP/1.0.
        guard head.version == .http11, isNominated(head.headers) else { return nil }
        let offered = head.headers.elements(of: .upgrade).filter { isTunnelled($0) }
        guard !offered.isEmpty else { return nil }
        guard head.framing == .none || head.framing == .length(0) else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "an upgrade request must not have a body",
                status: 400
            )
        }
        return offered.joined(separator: ", ")
    }

    /// Whether `Connection` names `Upgrade`, which has no effect otherwise.
    private static func isNominated(_ headers: HTTPHeaders) -> Bool {
        headers.elements(of: .connection).contains {
            Grammar.equalIgnoringCase(String($0), "upgrade")
        }
    }

    /// Whether a name is `name` or `name/version`, and not a form of HTTP or TLS.
    private static func isTunnelled(_ name: Substring) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ Grammar.isToken(String($0)) }) else {
            return false
        }
        return !["h2c", "h2", "http", "tls"].contains(parts[0].lowercased())
    }
}
