import FoundationEssentials
import NetproxyHTTPMessage
public import NetworkCore

/// The proxies named by the environment: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
///
/// The rules are those of curl. Lower-case names take precedence. `HTTP_PROXY` is ignored, since the client
/// of a CGI program can set it. An empty value names no proxy. A proxy is
/// `[SCHEME://][NAME:PASSWORD@]HOST[:PORT]` with the scheme `http`, `socks5` or `socks5h`. An exception is a
/// host with an optional port, which also covers its subdomains, a network such as `10.0.0.0/8`, or `*`.
/// Servers on this machine are reached directly.
public struct ProxyEnvironment: Sendable {
    private let proxies: [Origin.Scheme: ParentProxy]
    private let exceptions: [String]

    /// Reads variables, by default those of this process.
    ///
    /// - Throws: `proxy_internal_error` that names the variable with an invalid proxy.
    public init(_ variables: [String: String]? = nil) throws(NetworkError) {
        let variables = variables ?? ProcessInfo.processInfo.environment
        func value(_ names: String...) -> (name: String, text: String)? {
            for name in names {
                if let text = variables[name] { return text.isEmpty ? nil : (name, text) }
            }
            return nil
        }
        var proxies: [Origin.Scheme: ParentProxy] = [:]
        let every = value("all_proxy", "ALL_PROXY")
        if let (name, text) = value("http_proxy") ?? every {
            proxies[.http] = try ProxyEnvironment.proxy(name, text)
        }
        if let (name, text) = value("https_proxy", "HTTPS_PROXY") ?? every {
            proxies[.https] = try ProxyEnvironment.proxy(name, text)
        }
        self.proxies = proxies
        exceptions = (value("no_proxy", "NO_PROXY")?.text ?? "").lowercased()
            .split { $0 == "," || $0 == " " }.map(String.init)
    }

    /// Returns the proxy on the way to an origin; `nil` if the origin is reached directly.
    public func proxy(for origin: Origin) -> ParentProxy? {
        guard !origin.isLoopback, !exceptions.contains(where: { covers($0, origin) }) else {
            return nil
        }
        return proxies[origin.scheme]
    }

    private func covers(_ exception: String, _ origin: Origin) -> Bool {
        if exception == "*" { return true }
        if let slash = exception.firstIndex(of: "/") {
            guard let address = IPAddress(origin.host),
                let network = IPAddress(String(exception[..<slash])),
                let length = Int(exception[exception.index(after: slash)...])
            else { return false }
            return address.isIn(network, length: length)
        }
        // An exception with a port applies to that port only.
        guard let authority = Authority(exception.trimming(prefixes: ["*.", "."])) else {
            return false
        }
        guard authority.port ?? origin.port == origin.port else { return false }
        let (host, covered) = (origin.host, authority.host)
        return host == covered || !authority.isIPLiteral && host.hasSuffix(".\(covered)")
    }

    private static func proxy(
        _ variable: String,
        _ text: String
    ) throws(NetworkError) -> ParentProxy {
        let parts = text.firstRange(of: "://").map {
            (text[..<$0.lowerBound], text[$0.upperBound...])
        }
        let scheme = parts?.0.lowercased() ?? "http"
        var rest = (parts?.1 ?? text[...]).prefix { $0 != "/" }
        var account: (name: String, password: Secret)?
        if let at = rest.lastIndex(of: "@") {
            let words = rest[..<at].split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            account = (
                PercentEncoding.decodedSegment(words[0]),
                Secret(words.count > 1 ? PercentEncoding.decodedSegment(words[1]) : "")
            )
            rest = rest[rest.index(after: at)...]
        }
        let isSOCKS = scheme == "socks5" || scheme == "socks5h"
        guard isSOCKS || scheme == "http", let authority = Authority(String(rest)) else {
            // The error omits the text, which may contain a password.
            throw NetworkError(
                .internalError,
                side: .proxy,
                detail: "\(variable): expected [http://|socks5://][name:password@]host[:port]"
            )
        }
        let port = authority.port ?? (isSOCKS ? 1080 : 80)
        if isSOCKS {
            return try .socks5(
                host: authority.host,
                port: port,
                username: account?.name,
                password: account?.password
            )
        }
        guard let account else { return ParentProxy(host: authority.host, port: port) }
        return try ParentProxy(
            host: authority.host,
            port: port,
            username: account.name,
            password: account.password
        )
    }
}

extension String {
    /// Returns the text without the first of the prefixes that matches.
    fileprivate func trimming(prefixes: [String]) -> String {
        for prefix in prefixes where hasPrefix(prefix) { return String(dropFirst(prefix.count)) }
        return self
    }
}
