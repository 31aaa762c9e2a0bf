import Bytes
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
final class Router: Sendable {
    /// Which channel, and what to send it.
    struct Route {
        /// Position in the configuration's list of channels.
        let channel: Int
        /// Path and query for the upstream, byte for byte.
        let target: String
        /// What decided.
        let rule: RoutingRule
    }

    /// One of a channel's URLs.
    private struct Upstream {
        let channel: Int
        let port: Int
        let basePath: String
    }

    private let names: [String]
    private let basePaths: [String]
    private let channelsByName: [String: Int]
    private let channelsByHost: [String: Int]
    private let upstreamsByHost: [String: [Upstream]]
    private let paths: PathTable

    init(_ channels: [ChannelConfiguration]) {
        names = channels.map(\.name)
        basePaths = channels.map { $0.upstreams.first?.basePath ?? "" }
        var byName: [String: Int] = [:]
        var byHost: [String: Int] = [:]
        var byUpstream: [String: [Upstream]] = [:]
        var rules: [PathTable.Rule] = []
        for (index, channel) in channels.enumerated() {
            byName[channel.name] = index
            for host in channel.match.hosts { byHost[host.lowercased()] = index }
            for upstream in channel.upstreams {
                byUpstream[upstream.host, default: []].append(
                    Upstream(channel: index, port: upstream.port, basePath: upstream.basePath)
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
        channelsByHost = byHost
        // The longest base path first: the channel that says most about the request has it.
        upstreamsByHost = byUpstream.mapValues { list in
            list.sorted { $0.basePath.utf8.count > $1.basePath.utf8.count }
        }
        paths = PathTable(rules)
    }

    /// Whether the name belongs to a channel, so that a `Host` field may carry it.
    func isChannelHost(_ host: String) -> Bool { channelsByHost[host] != nil }

    /// The route of a request (contract section 3): the listener's channel, else the longest host,
    /// else the longest path prefix.
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
        if let rule = paths.rule(for: target) {
            return try below(
                rule.channel,
                rule.strips ? Router.stripped(rule.prefix, from: target) : target,
                by: .path
            )
        }
        throw NetworkError(.noChannel, side: .downstream, detail: nobody, status: 404)
    }

    /// `OPTIONS *`: of the channel that the listener or the Host names.
    private func wholeServer(
        _ head: RequestHead,
        _ dedicated: String?
    ) throws(NetworkError) -> Route {
        if let channel = dedicated.flatMap({ channelsByName[$0] }) {
            return try wholeServer(channel, by: .listener)
        }
        guard let channel = head.host.flatMap({ channelsByHost[$0.host] }) else {
            throw NetworkError(.noChannel, side: .downstream, detail: nobody, status: 404)
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
                detail: "OPTIONS * asks for the whole server, of which the channel is a part",
                status: 403
            )
        }
        return Route(channel: channel, target: "*", rule: rule)
    }

    private var nobody: String {
        "no channel matches; there are: \(names.joined(separator: ", "))"
    }

    /// A forward-proxy request: the authority names the upstream, and the path is sent as it came.
    private func absolute(
        _ authority: Authority,
        _ target: String
    ) throws(NetworkError) -> Route {
        for upstream in upstreamsByHost[authority.host] ?? []
        where authority.port.map({ Int($0) == upstream.port }) ?? true {
            let base = upstream.basePath
            guard target == "*" ? base.isEmpty : TargetPath.staysUnder(base, target) else {
                continue
            }
            // A route has the base path of the first upstream; whoever sends elsewhere exchanges it.
            let first = basePaths[upstream.channel]
            if base == first || target == "*" {
                return Route(channel: upstream.channel, target: target, rule: .upstream)
            }
            let moved = first + target.dropFirst(base.count)
            return Route(
                channel: upstream.channel,
                target: moved.isEmpty ? "/" : moved,
                rule: .upstream
            )
        }
        throw NetworkError(.noChannel, side: .downstream, detail: nobody, status: 403)
    }

    private func below(
        _ channel: Int,
        _ target: String,
        by rule: RoutingRule
    ) throws(NetworkError) -> Route {
        guard TargetPath.staysUnder("", target) else {
            if target == "*" { return try wholeServer(channel, by: rule) }
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

    private static func stripped(_ prefix: String, from target: String) -> String {
        let bytes = target.utf8.span
        let start = prefix.utf8.count
        guard start < bytes.count else { return "/" }
        let rest = bytes.string(in: start..<bytes.count)
        return bytes[start] == UInt8(ascii: "/") ? rest : "/" + rest
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
