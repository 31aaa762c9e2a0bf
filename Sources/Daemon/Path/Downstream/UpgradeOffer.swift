import NetproxyHTTP1
import NetproxyHTTPMessage

/// The protocols to which a client offers to switch (RFC 9110 §7.8).
///
/// Until the 101, such a request is like any other: it may have content, and the upstream may send any
/// response. After the 101, both connections are one tunnel.
enum UpgradeOffer {
    /// Returns the `Upgrade` value to forward; `nil` if the request offers no upgrade that can be
    /// tunneled.
    ///
    /// HTTP itself is excluded: an `h2c` tunnel would carry requests past every rule of the channel.
    /// Java's client offers it with each request, so it is ignored rather than refused.
    static func protocols(of head: RequestHead) -> String? {
        // RFC 9110 §7.8: ignore an `Upgrade` in HTTP/1.0.
        guard head.version == .http11, isNominated(head.headers) else { return nil }
        let offered = head.headers.elements(of: .upgrade).filter { isTunnelled($0) }
        return offered.isEmpty ? nil : offered.joined(separator: ", ")
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
