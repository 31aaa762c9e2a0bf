import HTTP1
import HTTPMessage
import NetworkCore
import ProxyConfig

/// What decided about the channel of a request.
enum RoutingRule: UInt8, Sendable {
    /// It came over the channel's own listener.
    case listener
    /// Its host is one of the channel's.
    case host
    /// The authority of its absolute form is the channel's upstream.
    case upstream
    /// Its path begins with the channel's.
    case path
}

/// Finds the channel of a request, and the target to ask its upstream for: an immutable table that
/// every loop shares.
struct Router: Sendable {
    /// Which channel, and what to send it.
    struct Route {
        /// Position in the configuration's list of channels.
        let channel: Int
        /// Path and query for the upstream, byte for byte.
        let target: String
        /// What decided.
        let rule: RoutingRule
    }

    private struct Rule {
        let channel: Int
        /// Without the slash at the end: `/orders`, or nothing for `/`.
        let prefix: String
        let strips: Bool
    }

    private let names: [String]
    private let basePaths: [String]
    private let channelsByName: [String: Int]
    private let channelsByHost: [String: Int]
    private let channelsByUpstream: [String: [Int]]
    /// Longest prefix first, by the first segment of the prefix.
    private let rules: [String: [Rule]]

    init(_ channels: [ChannelConfiguration]) {
        names = channels.map(\.name)
        basePaths = channels.map { $0.upstreams.first?.basePath ?? "" }
        var byName: [String: Int] = [:]
        var byHost: [String: Int] = [:]
        var byUpstream: [String: [Int]] = [:]
        var rules: [String: [Rule]] = [:]
        for (index, channel) in channels.enumerated() {
            byName[channel.name] = index
            for host in channel.match.hosts { byHost[host.lowercased()] = index }
            for upstream in channel.upstreams {
                byUpstream[upstream.host, default: []].append(index)
            }
            let prefix = channel.match.path == "/" ? "" : Router.trimmed(channel.match.path)
            rules[Router.firstSegment(prefix), default: []].append(
                Rule(
                    channel: index,
                    prefix: prefix,
                    strips: channel.match.strip == .remove
                )
            )
        }
        channelsByName = byName
        channelsByHost = byHost
        channelsByUpstream = byUpstream
        self.rules = rules.mapValues { list in
            list.sorted { $0.prefix.utf8.count > $1.prefix.utf8.count }
        }
    }

    /// Whether the name belongs to a channel, so that a `Host` field may carry it.
    func isChannelHost(_ host: String) -> Bool { channelsByHost[host] != nil }

    /// The route of a request (contract section 3): the listener's channel, else the longest host,
    /// else the longest path prefix.
    ///
    /// - Throws: `no_channel`, or `http_request_error` for a path that leaves its base.
    func route(_ head: RequestHead, dedicated: String?) throws(NetworkError) -> Route {
        guard let target = head.target.pathAndQuery else {
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                detail: "\(head.method) with the target \(head.target) has no channel",
                status: 403
            )
        }
        if let dedicated, let channel = channelsByName[dedicated] {
            return try below(channel, target, by: .listener)
        }
        if case .absolute(_, let authority, _) = head.target {
            if let channel = channelsByHost[authority.host] {
                return try below(channel, target, by: .host)
            }
            return try absolute(authority, target)
        }
        if let host = head.host, !host.isIPLiteral, let channel = channelsByHost[host.host] {
            return try below(channel, target, by: .host)
        }
        if let rule = rule(for: target) {
            return try below(
                rule.channel,
                rule.strips ? Router.stripped(rule.prefix, from: target) : target,
                by: .path
            )
        }
        throw NetworkError(.noChannel, side: .downstream, detail: nobody, status: 404)
    }

    private var nobody: String {
        "no channel matches; there are: \(names.joined(separator: ", "))"
    }

    /// A forward-proxy request: the authority names the upstream, and the path is sent as it came.
    private func absolute(
        _ authority: Authority,
        _ target: String
    ) throws(NetworkError) -> Route {
        for channel in channelsByUpstream[authority.host] ?? [] {
            let base = basePaths[channel]
            guard TargetPath(target).staysUnder(base) else { continue }
            return Route(channel: channel, target: target, rule: .upstream)
        }
        throw NetworkError(.noChannel, side: .downstream, detail: nobody, status: 403)
    }

    private func below(
        _ channel: Int,
        _ target: String,
        by rule: RoutingRule
    ) throws(NetworkError) -> Route {
        guard TargetPath(target).staysUnder("") else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "the path's dot segments leave the channel",
                status: 400
            )
        }
        let base = basePaths[channel]
        if base.isEmpty { return Route(channel: channel, target: target, rule: rule) }
        // `/` of the channel is the upstream's base path itself.
        if target.utf8.count == 1 { return Route(channel: channel, target: base, rule: rule) }
        if target.hasPrefix("/?") {
            return Route(channel: channel, target: base + target.dropFirst(), rule: rule)
        }
        return Route(channel: channel, target: base + target, rule: rule)
    }

    private func rule(for target: String) -> Rule? {
        for segment in [Router.firstSegment(target), ""] {
            for rule in rules[segment] ?? [] where Router.matches(rule.prefix, target) {
                return rule
            }
        }
        return nil
    }

    /// On segment boundaries: `/orders` matches `/orders`, `/orders/1` and `/orders?x`, and nothing
    /// else that begins so.
    private static func matches(_ prefix: String, _ target: String) -> Bool {
        guard target.utf8.starts(with: prefix.utf8) else { return false }
        guard let next = target.utf8.dropFirst(prefix.utf8.count).first else { return true }
        return next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
    }

    private static func stripped(_ prefix: String, from target: String) -> String {
        let rest = target.utf8.dropFirst(prefix.utf8.count)
        guard let first = rest.first else { return "/" }
        return first == UInt8(ascii: "/") ? String(Substring(rest)) : "/" + String(Substring(rest))
    }

    /// `orders` of `/orders/1?x`.
    private static func firstSegment(_ path: String) -> String {
        let segment = path.utf8.dropFirst().prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        return String(Substring(segment))
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
