import NetproxyHTTPMessage

/// Parses host names and addresses as written in a configuration.
enum HostText {
    /// Whether the text is a host name or an IPv4 address: labels of letters, digits, `-` and `_`.
    ///
    /// The rule is stricter than for requests: no resolver accepts other labels (RFC 1123 §2.1), so they are
    /// a mistake in a configuration.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && !label.utf8.contains { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: ":") }
        }
        return areLabels && Authority(String(text)) != nil
    }

    /// Whether the text is a name, `*.suffix`, or `*` for any host.
    static func isPattern(_ text: String) -> Bool {
        text == "*" || isName(text.hasPrefix("*.") ? text.dropFirst(2) : text[...])
    }

    /// Returns a host with or without a port: a name, an IPv4 address, or an IPv6 address in brackets.
    static func authority(_ text: some StringProtocol) -> Authority? {
        guard let authority = Authority(String(text)) else { return nil }
        return authority.isIPLiteral || isName(authority.host) ? authority : nil
    }

    /// Returns a serialized origin (RFC 6454 §6.2) in lower case and without a default port, as browsers send
    /// it, or `none`.
    ///
    /// Browser extensions have other schemes than http and https.
    static func webOrigin(_ text: String) -> String? {
        // `none` matches requests that no page sends, such as those of a user who opens a URL in a browser.
        if text == "none" { return text }
        guard let separator = text.firstRange(of: "://"), separator.lowerBound > text.startIndex,
            text[..<separator.lowerBound].allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "-") }),
            let authority = authority(text[separator.upperBound...])
        else { return nil }
        let scheme = text[..<separator.lowerBound].lowercased()
        let isOwnPort = authority.port == Origin.Scheme(rawValue: scheme)?.defaultPort
        return isOwnPort
            ? "\(scheme)://\(Authority.bracketed(authority.host))" : "\(scheme)://\(authority)"
    }
}
