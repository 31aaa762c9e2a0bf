import HTTPMessage

/// Names and addresses of hosts as people write them.
enum HostText {
    /// Whether the text is a host name or an IPv4 address: labels of letters, digits, `-` and `_`.
    ///
    /// Narrower than what a request may name: resolvers know no other labels (RFC 1123 §2.1), and
    /// whoever configures one has made a mistake.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && !label.utf8.contains { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: ":") }
        }
        return areLabels && Authority(String(text)) != nil
    }

    /// Whether the text is a name, `*.suffix` or, for everything, `*`.
    static func isPattern(_ text: String) -> Bool {
        text == "*" || isName(text.hasPrefix("*.") ? text.dropFirst(2) : text[...])
    }

    /// A host with or without a port: a name, an IPv4 address, or an IPv6 address in brackets.
    static func authority(_ text: some StringProtocol) -> Authority? {
        guard let authority = Authority(String(text)) else { return nil }
        return authority.isIPLiteral || isName(authority.host) ? authority : nil
    }
}
