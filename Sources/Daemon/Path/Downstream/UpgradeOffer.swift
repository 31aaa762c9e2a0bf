import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The protocols that an app offers to switch to (RFC 9110 §7.8).
enum UpgradeOffer {
    /// The `Upgrade` value to forward; `nil` where the request asks for no upgrade that can be tunnelled.
    ///
    /// HTTP itself is excluded: an `h2c` tunnel would carry requests past every rule of the channel.
    /// Java's client offers it with each request, so it is ignored rather than refused.
    ///
    /// - Throws: `http_request_error` when the request has content: its end and the start of the tunnel
    ///   could be confused.
    static func protocols(of head: RequestHead) throws(NetworkError) -> String? {
        // RFC 9110 §7.8: an Upgrade in HTTP/1.0 is ignored.
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

    /// `Upgrade` counts only where `Connection` names it.
    private static func isNominated(_ headers: HTTPHeaders) -> Bool {
        headers.elements(of: .connection).contains {
            Grammar.equalIgnoringCase(String($0), "upgrade")
        }
    }

    /// Whether it is `name` or `name/version`, and not a form of HTTP or TLS.
    private static func isTunnelled(_ name: Substring) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ Grammar.isToken(String($0)) }) else {
            return false
        }
        return !["h2c", "h2", "http", "tls"].contains(parts[0].lowercased())
    }
}
