import NetproxyBytes
import NetproxyConfig
import NetproxyHTTP1
import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// The rule that chose the channel of a request.
enum RoutingRule: UInt8, Sendable {
    /// The request arrived at the channel's own listener.
    case listener
    /// The host of the request is one of the channel's.
    case host
    /// The authority of the absolute-form target is the channel's upstream.
    case upstream
    /// The path begins with the channel's prefix.
    case path
}

/// Finds the channel of a request and the target for its upstream.
///
/// The table is immutable, and all loops share it.
final class Router: Sendable {
    /// The channel of a request, and the target for its upstream.
    struct Route {
        /// The index in the configuration's list of channels.
        let channel: Int
        /// The path and query for the upstream, byte for byte; a credential in the path is replaced by its
        /// marker.
        let target: String
        /// The client's text at the credential's place in the path.
        var ownCredential: String?
        /// The rule that chose the channel.
        let rule: RoutingRule
    }

    /// One upstream URL of a channel.
    private struct Upstream {
        let channel: Int
        let port: UInt16
        let isDefaultPort: Bool
        let basePath: String
        let template: PathTemplate?

        /// Whether an authority with the same host names the upstream, with or without a port.
        func isNamed(by authority: Authority) -> Bool {
            authority.port.map { $0 == port } ?? true
        }
    }

    /// The names of the channels in messages, each with its path unless the path is `/NAME`.
    private let names: [String]
    private let basePaths: [String]
    /// The templates of base paths with a place for a credential.
    private let templates: [PathTemplate?]
    private let channelsByName: [String: Int]
    private let channelsByHost: HostIndex
    private let upstreamsByHost: [String: [Upstream]]
    private let paths: PathTable
    /// Whether any channel has an IP address as a host.
    private let hasAddresses: Bool

    init(_ channels: [ChannelConfiguration]) {
        names = channels.map { channel in
            let isUsual = channel.match.path == "/\(channel.name)"
            return isUsual ? channel.name : "\(channel.name) (\(channel.match.path))"
        }
        basePaths = channels.map { $0.upstreams.first?.basePath ?? "" }
        templates = basePaths.map { PathTemplate($0) }
        var byName: [String: Int] = [:]
        var byHost: [String: Int] = [:]
        var byUpstream: [String: [Upstream]] = [:]
        var rules: [PathTable.Rule] = []
        for (index, channel) in channels.enumerated() {
            byName[channel.name] = index
            for host in channel.match.hosts { byHost[host.lowercased()] = index }
            for upstream in channel.upstreams {
                byUpstream[upstream.origin.host, default: []].append(
                    Upstream(
                        channel: index,
                        port: upstream.origin.port,
                        isDefaultPort: upstream.origin.hasDefaultPort,
                        basePath: upstream.basePath,
                        template: PathTemplate(upstream.basePath)
                    )
                )
            }
            let prefix = channel.match.path == "/" ? "" : Router.trimmed(channel.match.path)
            rules.append(
                PathTable.Rule(
                    channel: index,
                    prefix: prefix,
                    strips: channel.match.strip == .remove
                )
            )
        }
        channelsByName = byName
        channelsByHost = HostIndex(byHost)
        hasAddresses = byHost.keys.contains { Authority($0)?.isIPLiteral ?? false }
        upstreamsByHost = byUpstream.mapValues { $0.sorted(by: Router.precedes) }
        paths = PathTable(rules)
    }

    /// Whether a channel claims the host, so that `Host` may name it.
    func isChannelHost(_ host: String) -> Bool {
        channelsByHost[host] != nil || channelsByHost.matching(host) != nil
    }

    /// Returns the route of a request (contract section 3).
    ///
    /// The listener's channel comes first, then the longest host, with names before patterns, then the
    /// longest path prefix.
    ///
    /// - Throws: `no_channel`, or `http_request_error` for a path that leaves its base.
    func route(_ head: RequestHead, dedicated: String?) throws(NetworkError) -> Route {
        guard let target = head.target.pathAndQuery else {
            if head.target == .asterisk { return try wholeServer(head, dedicated) }
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                detail: "\(head.method) with the target \(head.target) has no channel",
                status: 403
            )
        }
        if let dedicated {
            guard let channel = channelsByName[dedicated] else {
                throw NetworkError(.noChannel, side: .downstream, detail: noMatch, status: 404)
            }
            return try over(listenerOf: channel, head.target, target)
        }
        if case .absolute(_, let authority, _) = head.target {
            if let channel = channelsByHost[authority.host] {
                return try below(channel, target, by: .host)
            }
            // The host of an upstream is exact, so it too precedes a pattern.
            if upstreamsByHost[authority.host] == nil,
                let channel = channelsByHost.matching(authority.host)
            {
                return try below(channel, target, by: .host)
            }
            return try absolute(authority, target, by: .upstream) { _ in true }
        }
        // Most requests name an address, and few configurations do.
        if let host = head.host, !host.isIPLiteral || hasAddresses,
            let channel = channelsByHost[host.host] ?? channelsByHost.matching(host.host)
        {
            return try below(channel, target, by: .host)
        }
        if let rule = paths.rule(for: target) {
            return try below(
                rule.channel,
                rule.strips ? Router.stripped(rule.prefix, from: target) : target,
                by: .path
            )
        }
        throw NetworkError(
            .noChannel,
            side: .downstream,
            detail: noMatch + paths.suggestion(for: target),
            status: 404
        )
    }

    /// Returns a target without a channel, without the credential of an API that expects it in the path.
    ///
    /// Clients know the API's path, and may send it below a wrong prefix.
    func hidingCredentials(in target: String) -> String {
        for template in templates.lazy.compactMap({ $0 }) where template.isRecognizable {
            for slash in target.indices where target[slash] == "/" {
                guard let match = template.match(target[slash...]), !match.isPlaceholder else {
                    continue
                }
                return target[..<slash] + template.text + match.rest
            }
        }
        return target
    }

    /// Whether a channel forwards to the authority.
    func isUpstream(_ authority: Authority) -> Bool {
        upstreamsByHost[authority.host]?.contains { $0.isNamed(by: authority) } ?? false
    }

    /// Returns the route of `OPTIONS *`: the channel of the listener or of `Host`.
    private func wholeServer(
        _ head: RequestHead,
        _ dedicated: String?
    ) throws(NetworkError) -> Route {
        if let channel = dedicated.flatMap({ channelsByName[$0] }) {
            return try wholeServer(channel, by: .listener)
        }
        let named = head.host.flatMap {
            channelsByHost[$0.host] ?? channelsByHost.matching($0.host)
        }
        guard let channel = named else {
            throw NetworkError(.noChannel, side: .downstream, detail: noMatch, status: 404)
        }
        return try wholeServer(channel, by: .host)
    }

    private func wholeServer(
        _ channel: Int,
        by rule: RoutingRule
    ) throws(NetworkError) -> Route {
        guard basePaths[channel].isEmpty else {
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                detail: "OPTIONS * cannot be routed to a channel whose upstream has a base path",
                status: 403
            )
        }
        return Route(channel: channel, target: "*", rule: rule)
    }

    private var noMatch: String {
        "no channel matches; there are: \(names.joined(separator: ", "))"
    }

    /// Returns the route of a request on a channel's own listener, which always leads to that channel.
    ///
    /// If the request names the channel's upstream, its path is the upstream's.
    private func over(
        listenerOf channel: Int,
        _ form: RequestTarget,
        _ target: String
    ) throws(NetworkError) -> Route {
        guard case .absolute(_, let authority, _) = form, channelsByHost[authority.host] != channel,
            let named = upstreamsByHost[authority.host],
            named.contains(where: { $0.channel == channel && $0.isNamed(by: authority) })
        else { return try below(channel, target, by: .listener) }
        return try absolute(authority, target, by: .listener) { $0.channel == channel }
    }

    /// Returns the route of a forward-proxy request: its authority names the upstream, and its path does
    /// not change.
    private func absolute(
        _ authority: Authority,
        _ target: String,
        by rule: RoutingRule,
        among isCandidate: (Upstream) -> Bool
    ) throws(NetworkError) -> Route {
        for upstream in upstreamsByHost[authority.host] ?? []
        where upstream.isNamed(by: authority) && isCandidate(upstream) {
            if let template = upstream.template {
                guard let match = template.match(target) else { continue }
                return try inPlace(match, of: upstream.channel, target, by: rule)
            }
            let base = upstream.basePath
            guard target == "*" ? base.isEmpty : Router.begins(target, with: base) else { continue }
            // A route has the base path of the first upstream; failover replaces it.
            let first = basePaths[upstream.channel]
            if target == "*" {
                return Route(channel: upstream.channel, target: target, rule: rule)
            }
            guard TargetPath.staysUnder(base, target) else { throw Router.leaves() }
            if base == first { return Route(channel: upstream.channel, target: target, rule: rule) }
            let moved = first + target.dropFirst(base.count)
            return Route(
                channel: upstream.channel,
                target: moved.hasPrefix("/") ? moved : "/" + moved,
                rule: rule
            )
        }
        throw NetworkError(.noChannel, side: .downstream, detail: noMatch, status: 403)
    }

    /// Returns the route of a path relative to the channel's base path.
    private func below(
        _ channel: Int,
        _ target: String,
        by rule: RoutingRule
    ) throws(NetworkError) -> Route {
        let base = basePaths[channel]
        guard target.utf8.first == UInt8(ascii: "/") else {
            if target == "*" { return try wholeServer(channel, by: rule) }
            // The path may end at the prefix or continue with a query; it then is the base path itself.
            return Route(channel: channel, target: (base.isEmpty ? "/" : base) + target, rule: rule)
        }
        guard TargetPath.staysUnder("", target) else { throw Router.leaves() }
        // A client library sends the whole path of the API, including its own credential.
        if let template = templates[channel], template.isRecognizable,
            let match = template.match(target)
        {
            return try inPlace(match, of: channel, target, by: rule)
        }
        return Route(channel: channel, target: base.isEmpty ? target : base + target, rule: rule)
    }

    /// Returns the route of a path with a value in the credential's place.
    private func inPlace(
        _ match: PathTemplate.Match,
        of channel: Int,
        _ target: String,
        by rule: RoutingRule
    ) throws(NetworkError) -> Route {
        guard TargetPath.staysUnder("", target),
            match.rest.utf8.first != UInt8(ascii: "/")
                || TargetPath.staysUnder("", String(match.rest))
        else { throw Router.leaves() }
        return Route(
            channel: channel,
            target: basePaths[channel] + match.rest,
            ownCredential: match.isPlaceholder ? nil : String(match.value),
            rule: rule
        )
    }

    /// Whether an upstream precedes another with the same host: the longest base path comes first, as the
    /// most specific.
    ///
    /// Among equals, the one with the default port comes first, since an authority without a port names
    /// it.
    private static func precedes(_ left: Upstream, _ right: Upstream) -> Bool {
        let (length, other) = (left.basePath.utf8.count, right.basePath.utf8.count)
        return length == other ? left.isDefaultPort && !right.isDefaultPort : length > other
    }

    private static func leaves() -> NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            detail: "the path's dot segments lead out of the channel",
            status: 400
        )
    }

    /// Whether a path begins with the segments of a base path.
    private static func begins(_ target: String, with base: String) -> Bool {
        guard target.utf8.starts(with: base.utf8) else { return false }
        let next = target.utf8.dropFirst(base.utf8.count).first
        return next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
    }

    private static func stripped(_ prefix: String, from target: String) -> String {
        let bytes = target.utf8.span
        return bytes.string(in: min(prefix.utf8.count, bytes.count)..<bytes.count)
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}

/// The error for a channel name that is not in the configuration.
package struct UnknownChannel: CustomStringConvertible {
    private let name: String
    private let present: [String]

    /// Creates the error with the name and the existing names.
    package init(name: String, present: [String]) {
        self.name = name
        self.present = present
    }

    /// The sentence that lists the existing names.
    package var description: String {
        "there is no channel \(name); there are: \(present.joined(separator: ", "))"
    }
}
