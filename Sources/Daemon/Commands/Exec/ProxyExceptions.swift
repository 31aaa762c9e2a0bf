package import NetproxyConfig
import NetproxyHTTPMessage

/// The exceptions in `NO_PROXY`, as the most permissive client reads them.
///
/// There is no standard. curl and Go apply a name to its subdomains too, `requests` and axios to every host
/// that ends with the same letters. Go, Python and Node compare ports; curl does not. Go, curl and `requests`
/// support networks such as `10.0.0.0/8`. A host is covered if any of these clients would connect to it
/// directly.
package struct ProxyExceptions: Sendable {
    /// The exceptions as written.
    package let texts: [String]

    /// Splits the value of the variable at commas and spaces.
    package init(_ text: String) {
        texts = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    /// Reads both spellings of the variable, because clients differ in which one they prefer.
    package init(in environment: [String: String]) {
        let lower = ProxyExceptions(environment["no_proxy"] ?? "")
        let upper = ProxyExceptions(environment["NO_PROXY"] ?? "")
        texts = lower.texts + upper.texts.filter { !lower.texts.contains($0) }
    }

    /// Returns the exceptions that cover a server, in their original order.
    package func covering(host: String, port: UInt16) -> [String] {
        texts.filter { ProxyExceptions.covers($0, host.lowercased(), port) }
    }

    private static func covers(_ text: String, _ host: String, _ port: UInt16) -> Bool {
        var text = text.lowercased()
        if text.hasPrefix("*") { text.removeFirst() }
        if text.hasSuffix(".") { text.removeLast() }
        // `*`, or the rest of `*.`.
        if text.isEmpty { return true }
        let name = text.hasPrefix("[") ? text.filter { $0 != "[" && $0 != "]" } : text
        if host.hasSuffix(name) || "\(host):\(port)".hasSuffix(text) { return true }
        if text.hasPrefix("."), host == text.dropFirst() { return true }
        if "\(Authority.bracketed(host)):\(port)" == text { return true }
        return isInNetwork(host, name)
    }

    /// Whether a host is an address in a network such as `10.0.0.0/8`.
    private static func isInNetwork(_ host: String, _ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let length = Int(parts[1]), let address = IPAddress(host),
            let network = IPAddress(String(parts[0]))
        else { return false }
        return address.isIn(network, length: length)
    }
}

extension ProxyExceptions {
    /// Returns warnings of exceptions that make programs bypass the proxy, and so send requests without the
    /// channel's credential.
    ///
    /// - Parameters:
    ///   - configuration: the configuration with the channels.
    ///   - environment: the variables that programs would inherit.
    /// - Returns: one line for each exception and channel.
    package static func warnings(
        for configuration: ProxyConfiguration,
        in environment: [String: String]
    ) -> [String] {
        let exceptions = ProxyExceptions(in: environment)
        guard !exceptions.texts.isEmpty else { return [] }
        var warnings: [String] = []
        for channel in configuration.channels {
            for origin in channel.upstreams.map(\.origin) {
                for text in exceptions.covering(host: origin.host, port: origin.port) {
                    warnings.append(
                        "warning: NO_PROXY has '\(text)', which covers \(origin.host) of channel "
                            + "\(channel.name): a program that asks for http://\(origin.host) gets "
                            + "there without netproxy and its credential"
                    )
                }
            }
        }
        return warnings
    }
}
