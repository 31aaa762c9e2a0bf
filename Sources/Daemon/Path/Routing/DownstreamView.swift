import NetproxyConfig
import NetproxyHTTPMessage
import NetworkCore

/// The names of a channel's upstreams in their responses.
package struct UpstreamNames: Sendable {
    /// One upstream URL.
    struct Name: Sendable {
        let origin: Origin
        let basePath: String
        private let template: PathTemplate?

        init(_ origin: Origin, _ basePath: String) {
            self.origin = origin
            self.basePath = basePath
            template = PathTemplate(basePath)
        }

        /// Returns the part of a path below the base path: empty, or beginning with `/`, `?` or `#`.
        func rest(of path: Substring) -> Substring? {
            if let template { return template.match(path)?.rest }
            guard path.utf8.starts(with: basePath.utf8) else { return nil }
            let rest = path.dropFirst(basePath.count)
            return rest.first.map { "/?#".contains($0) } ?? true ? rest : nil
        }

        /// Returns the path with the marker instead of this credential; `nil` if the path does not contain
        /// it.
        func hidden(_ value: String, in path: Substring) -> String? {
            guard let template, let match = template.match(path), match.value == value else {
                return nil
            }
            return template.filled(with: PathTemplate.encodedMarker) + match.rest
        }

        /// Returns the target with the marker instead of any credential; `nil` outside the template.
        func shown(_ target: String) -> String? {
            guard let template, let match = template.match(target) else { return nil }
            return template.text + match.rest
        }
    }

    let all: [Name]
    /// The configured authority in requests, by which the upstreams may call themselves.
    private let alias: Authority?
    /// Whether the upstreams call themselves by the client's name for netproxy.
    private let useAppsName: Bool

    init(_ configuration: ChannelConfiguration) {
        all = configuration.upstreams.map { Name($0.origin, $0.basePath) }
        useAppsName = configuration.host == .app
        alias = if case .name(let name) = configuration.host { Authority(name) } else { nil }
    }

    /// Whether a URL has the authority of an upstream, with the port of its scheme.
    ///
    /// Servers that are unaware of a TLS terminator in front of them use `http` in their own URLs.
    func isOwn(_ authority: Authority, _ scheme: Origin.Scheme, calledByApp app: Authority?) -> Bool
    {
        if authority == alias || (useAppsName && authority == app) { return true }
        let port = authority.port ?? scheme.defaultPort
        return all.contains { name in
            name.origin.host == authority.host
                && (port == name.origin.port
                    || port == scheme.defaultPort && name.origin.hasDefaultPort)
        }
    }
}

/// The client's names for the API in one exchange, into which the upstream's references are translated.
struct DownstreamView {
    /// The destination of a client that follows a reference in a response.
    enum Lead: Equatable {
        /// The reference leads back to netproxy unchanged.
        case here
        /// The reference leads past netproxy to the upstream; the value is its translation.
        case upstream(String)
        /// The reference leads to another server, or out of the upstream's base path.
        case elsewhere
    }

    private let names: UpstreamNames
    /// The upstream that responded.
    private let answering: UpstreamNames.Name
    /// The authority in the client's request.
    private let authority: Authority?
    /// The client's counterpart of the upstream's base path.
    private let basePath: String
    /// The requested path in the upstream's notation.
    private let upstreamPath: Substring
    /// The requested path in the client's notation.
    private let appPath: Substring

    /// Derives the names from the targets of the client and the upstream.
    ///
    /// - Parameters:
    ///   - names: the names of the channel's upstreams; at least one.
    ///   - destination: the upstream that responded; `nil` for the first.
    ///   - authority: the authority in the client's request.
    ///   - appTarget: the target of the client's request.
    ///   - upstreamTarget: the target of the request to the first upstream.
    init?(
        _ names: UpstreamNames,
        answering destination: Origin?,
        authority: Authority?,
        appTarget: String,
        upstreamTarget: String
    ) {
        guard let first = names.all.first else { return nil }
        self.names = names
        answering = names.all.first { $0.origin == destination } ?? first
        self.authority = authority
        let path = TargetPath(upstreamTarget).path
        let rest = first.rest(of: path) ?? path
        let appPath = TargetPath(appTarget).path
        // A path that ends after its prefix gets a slash that the client has not sent.
        basePath = String(appPath.hasSuffix(rest) ? appPath.dropLast(rest.count) : appPath)
        upstreamPath = answering.basePath + rest
        self.appPath = appPath
    }

    /// The path of a cookie without one: that of the request up to its last slash (RFC 6265 §5.1.4).
    var directory: String {
        let directory = appPath.lastIndex(of: "/").map { appPath[..<$0] } ?? ""
        return directory.isEmpty ? "/" : String(directory)
    }

    /// Returns the destination of a reference (RFC 3986 §4.1).
    func lead(_ reference: Substring) -> Lead {
        let path = reference.prefix { $0 != "?" && $0 != "#" }
        if path.isEmpty { return .here }
        // Browsers remove tabs, and read backslashes as slashes and encoded dots as dots (WHATWG URL §4.4);
        // other clients do not.
        guard !reference.utf8.contains(where: { $0 < 0x20 }),
            !path.utf8.contains(UInt8(ascii: "\\")),
            !PercentEncoding.hasEncodedStep(String(path))
        else { return .elsewhere }
        if let (scheme, length) = DownstreamView.scheme(of: reference) {
            guard let scheme else { return .here }
            return lead(reference.dropFirst(length), scheme, form: .absolute)
        }
        if reference.hasPrefix("//") {
            return lead(reference, answering.origin.scheme, form: .network)
        }
        let rest = reference[path.endIndex...]
        let target = DownstreamView.resolved(path, against: upstreamPath) + rest
        guard let translated = translated(target[...]) else { return .elsewhere }
        let isSame =
            !DownstreamView.hasSteps(path)
            && DownstreamView.resolved(path, against: appPath) + rest == translated
        return isSame ? .here : link(to: translated).map { .upstream($0) } ?? .elsewhere
    }

    /// Returns a reference to a path at netproxy; `nil` if there is none.
    ///
    /// Clients read a path that begins with two slashes as an authority.
    private func link(to path: String) -> String? {
        guard path.hasPrefix("//") else { return path }
        return authority.map { "//\($0)" + path }
    }

    private enum Form {
        case absolute, network
    }

    /// Returns the scheme of an absolute URL, `nil` if it is not HTTP, and its length with the colon.
    private static func scheme(of reference: Substring) -> (Origin.Scheme?, Int)? {
        let name = reference.prefix {
            $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
        }
        guard name.first?.isLetter == true, reference[name.endIndex...].first == ":" else {
            return nil
        }
        let scheme = Origin.Scheme(rawValue: name.lowercased())
        return (scheme, name.count + 1)
    }

    /// Returns the destination of `//authority/path`.
    private func lead(_ rest: Substring, _ scheme: Origin.Scheme, form: Form) -> Lead {
        guard rest.hasPrefix("//") else { return .elsewhere }
        let text = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        guard let named = Authority(String(text)) else { return .elsewhere }
        let path = rest[text.endIndex...]
        guard names.isOwn(named, scheme, calledByApp: authority) else {
            let isHere = form == .network || scheme == .http
            return isHere && named == authority ? .here : .elsewhere
        }
        guard let translated = translated(path) else { return .elsewhere }
        guard let authority else {
            return link(to: translated).map { .upstream($0) } ?? .elsewhere
        }
        if named == authority, translated == path, scheme == .http || form == .network {
            return .here
        }
        return .upstream((form == .absolute ? "http://" : "//") + "\(authority)" + translated)
    }

    /// Returns the client's path for a path of the upstream; `nil` if there is none.
    ///
    /// Dot segments are resolved first, as clients do (RFC 3986 §5.2.4): they can lead out of the base path.
    func translated(_ path: Substring) -> String? {
        let end = path.firstIndex { $0 == "?" || $0 == "#" } ?? path.endIndex
        let resolved = DownstreamView.resolved(path[..<end], against: "/") + path[end...]
        // Clients and servers read encoded dot segments differently.
        guard !TargetPath(resolved).hasDotSegments else { return nil }
        let path = resolved[...]
        let own = answering.rest(of: path)
        guard let rest = own ?? names.all.lazy.compactMap({ $0.rest(of: path) }).first else {
            return nil
        }
        let translated = basePath + rest
        return translated.hasPrefix("/") ? translated : "/" + translated
    }

    /// The client's path for the upstream's base path, for cookies of the whole upstream.
    var root: String { basePath.isEmpty ? "/" : basePath }

    /// The upstream's base path, for cookies of the whole upstream.
    var upstreamRoot: String { answering.basePath.isEmpty ? "/" : answering.basePath }

    /// Whether a cookie's path includes another path (RFC 6265 §5.1.4).
    static func path(_ path: Substring, encloses other: String) -> Bool {
        guard other.hasPrefix(path) else { return false }
        return path.hasSuffix("/") || other.count == path.count
            || other.dropFirst(path.count).hasPrefix("/")
    }

    /// Whether a cookie's domain includes the host in the client's request (RFC 6265 §5.1.3).
    func isWithin(domain: Substring) -> Bool {
        let domain = domain.drop { $0 == "." }.lowercased()
        guard let authority, !domain.isEmpty else { return false }
        return authority.host == domain
            || (!authority.isIPLiteral && authority.host.hasSuffix(".\(domain)"))
    }

    private static func hasSteps(_ path: Substring) -> Bool {
        path.split(separator: "/").contains { $0 == ".." || $0 == "." }
    }

    /// Resolves a path against that of a request (RFC 3986 §5.2).
    private static func resolved(_ path: Substring, against base: Substring) -> String {
        guard hasSteps(path) || !path.hasPrefix("/") else { return String(path) }
        if path.isEmpty { return "" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        var segments: [Substring] = [""]
        if !path.hasPrefix("/") {
            segments = base.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            if segments.isEmpty { segments = [""] }
        }
        for segment in path.hasPrefix("/") ? parts.dropFirst() : parts[...] {
            switch segment {
            case "..": if segments.count > 1 { segments.removeLast() }
            case ".": break
            default: segments.append(segment)
            }
        }
        if parts.last == ".." || parts.last == "." { segments.append("") }
        return segments.joined(separator: "/")
    }
}
