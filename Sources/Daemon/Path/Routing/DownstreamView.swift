import NetproxyConfig
import NetproxyHTTPMessage
import NetworkCore

/// The names of a channel's upstreams, as their responses may spell them.
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

        /// What follows the base path in a path below it: empty, or from a `/`, `?` or `#` on.
        func rest(of path: Substring) -> Substring? {
            if let template { return template.match(path)?.rest }
            guard path.utf8.starts(with: basePath.utf8) else { return nil }
            let rest = path.dropFirst(basePath.count)
            return rest.first.map { "/?#".contains($0) } ?? true ? rest : nil
        }

        /// The path with the marker in place of this credential; `nil` where it has none of it.
        func hidden(_ value: String, in path: Substring) -> String? {
            guard let template, let match = template.match(path), match.value == value else {
                return nil
            }
            return template.filled(with: PathTemplate.encodedMarker) + match.rest
        }

        /// The target as it is shown: with the marker in place of whatever credential it has.
        func shown(_ target: String) -> String? {
            guard let template, let match = template.match(target) else { return nil }
            return template.text + match.rest
        }
    }

    let all: [Name]
    /// Another authority that the upstreams are told to be, and so call themselves.
    private let alias: Authority?
    /// Whether they call themselves what the app calls netproxy.
    private let useAppsName: Bool

    init(_ configuration: ChannelConfiguration) {
        all = configuration.upstreams.map { Name($0.origin, $0.basePath) }
        useAppsName = configuration.host == .app
        alias = if case .name(let name) = configuration.host { Authority(name) } else { nil }
    }

    /// Whether a URL's authority is an upstream's own, with the port that goes with its scheme.
    ///
    /// Servers that do not know of the TLS in front of them say `http` of themselves.
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

/// How the app of one exchange names the API: what an upstream says of itself is translated by it.
struct DownstreamView {
    /// Where a reference in a response leads an app that follows it.
    enum Lead: Equatable {
        /// Back to netproxy, as it is.
        case here
        /// To the upstream itself; through netproxy by this reference.
        case upstream(String)
        /// To another server, or out of the upstream's base path.
        case elsewhere
    }

    private let names: UpstreamNames
    /// The one that answered.
    private let answering: UpstreamNames.Name
    /// The authority that the app used.
    private let authority: Authority?
    /// What the app's paths have in place of the upstream's base path.
    private let basePath: String
    /// The path that was asked for, as the upstream calls it.
    private let upstreamPath: Substring

    /// Compares the target of the app with that of the upstream.
    ///
    /// - Parameters:
    ///   - names: of the channel's upstreams; at least one.
    ///   - destination: the one that was asked; `nil` for the first.
    ///   - authority: what the app named.
    ///   - appTarget: of its request.
    ///   - upstreamTarget: of the request to the first upstream.
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
        // With nothing after its prefix, a path gets a slash that the app has not sent.
        basePath = String(appPath.hasSuffix(rest) ? appPath.dropLast(rest.count) : appPath)
        upstreamPath = answering.basePath + rest
    }

    /// Where a reference leads (RFC 3986 §4.1).
    func lead(_ reference: Substring) -> Lead {
        if let (scheme, length) = DownstreamView.scheme(of: reference) {
            guard let scheme else { return .here }
            return lead(reference.dropFirst(length), scheme, form: .absolute)
        }
        if reference.hasPrefix("//") {
            return lead(reference, answering.origin.scheme, form: .network)
        }
        if reference.hasPrefix("/") { return lead(path: reference) }
        // Other relative references mean the same to both, unless they climb.
        let path = reference.prefix { $0 != "?" && $0 != "#" }
        guard path.split(separator: "/").contains("..") else { return .here }
        return lead(path: resolved(path) + reference[path.endIndex...])
    }

    private enum Form {
        case absolute, network
    }

    /// The scheme of an absolute URL and its length with the colon; no scheme for one that is not HTTP's.
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

    /// Where `//authority/path` leads.
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
        guard let authority else { return .upstream(translated) }
        if named == authority, translated == path, scheme == .http || form == .network {
            return .here
        }
        return .upstream((form == .absolute ? "http://" : "//") + "\(authority)" + translated)
    }

    private func lead(path: Substring) -> Lead {
        guard let translated = translated(path) else { return .elsewhere }
        return translated == path ? .here : .upstream(translated)
    }

    /// A path of the upstream as the app would ask for it; `nil` if it cannot.
    func translated(_ path: Substring) -> String? {
        let own = answering.rest(of: path)
        guard let rest = own ?? names.all.lazy.compactMap({ $0.rest(of: path) }).first else {
            return nil
        }
        let translated = basePath + rest
        return translated.hasPrefix("/") ? translated : "/" + translated
    }

    /// The base path as the app sees it, for cookies of all of the upstream.
    var root: String { basePath.isEmpty ? "/" : basePath }

    /// The same as the upstream sees it.
    var upstreamRoot: String { answering.basePath.isEmpty ? "/" : answering.basePath }

    /// Whether a cookie's path includes another one (RFC 6265 §5.1.4).
    static func path(_ path: Substring, encloses other: String) -> Bool {
        guard other.hasPrefix(path) else { return false }
        return path.hasSuffix("/") || other.count == path.count
            || other.dropFirst(path.count).hasPrefix("/")
    }

    /// Whether a cookie's domain includes the host that the app used (RFC 6265 §5.1.3).
    func isWithin(domain: Substring) -> Bool {
        let domain = domain.drop { $0 == "." }.lowercased()
        guard let authority, !domain.isEmpty else { return false }
        return authority.host == domain
            || (!authority.isIPLiteral && authority.host.hasSuffix(".\(domain)"))
    }

    /// A relative path with its dot segments against the path that was asked for (RFC 3986 §5.2).
    private func resolved(_ path: Substring) -> Substring {
        var segments = upstreamPath.split(separator: "/", omittingEmptySubsequences: false)
        segments.removeLast()
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            switch segment {
            case "..": if segments.count > 1 { segments.removeLast() }
            case ".": break
            default: segments.append(segment)
            }
        }
        if path.hasSuffix("..") || path.hasSuffix(".") { segments.append("") }
        return Substring(segments.joined(separator: "/"))
    }
}
