import NetproxyService

extension ClientLease {
    /// Returns the environment of a program that uses the proxy.
    ///
    /// - `http_proxy` and `HTTP_PROXY`: curl reads only the first, Go prefers the second; the key is the
    ///   password. `https_proxy` is unchanged: tunnels lead only to the hosts of `connect`, and netproxy adds
    ///   no credential inside them.
    /// - `no_proxy` and `NO_PROXY`: the inherited exceptions and this machine, so that a program still
    ///   reaches its own servers, without exceptions that cover a channel's upstream.
    /// - `NODE_USE_ENV_PROXY`: makes Node (24 and later) read these variables.
    /// - `NETPROXY_KEY`, `NETPROXY_<CHANNEL>_URL`: for programs that know netproxy or accept a base URL.
    /// - the variables of each channel's `exec`.
    ///
    /// - Parameter inherited: the inherited variables.
    /// - Returns: the complete environment.
    package func environment(adding inherited: [String: String]) -> [String: String] {
        var variables = inherited
        variables["NETPROXY_KEY"] = key
        for channel in channels {
            let name = channel.name.uppercased().replacing("-", with: "_")
            variables["NETPROXY_\(name)_URL"] = channel.url
            for (name, value) in channel.variables ?? [:] { variables[name] = value }
        }
        guard let proxy else { return variables }
        for name in ["http_proxy", "HTTP_PROXY"] {
            variables[name] = "http://netproxy:\(key)@\(proxy)"
        }
        var exceptions = ProxyExceptions(in: inherited).texts
        for name in ["localhost", "127.0.0.1", "::1"] where !exceptions.contains(name) {
            exceptions.append(name)
        }
        let harmful = Set(covering(exceptions).map(\.exception))
        exceptions.removeAll { harmful.contains($0) }
        // If an upstream is on this machine, its address is not an exception, but the proxy itself is. Python
        // and Go support a port here. curl does not; it connects to the proxy, which serves the request.
        exceptions.append(proxy)
        for name in ["no_proxy", "NO_PROXY"] {
            variables[name] = exceptions.joined(separator: ",")
        }
        variables["NODE_USE_ENV_PROXY"] = "1"
        return variables
    }

    /// Returns the exceptions that cover an upstream, each with the first channel of that upstream.
    private func covering(
        _ exceptions: [String]
    ) -> [(exception: String, host: String, channel: String)] {
        let list = ProxyExceptions(exceptions.joined(separator: ","))
        var found: [(exception: String, host: String, channel: String)] = []
        for channel in channels {
            for (host, port) in channel.servers {
                for exception in list.covering(host: host, port: port)
                where !found.contains(where: { $0.exception == exception }) {
                    found.append((exception, host, channel.name))
                }
            }
        }
        return found
    }

    /// Returns the warnings to show before a program starts.
    ///
    /// `inherited` are the variables that the program would have without netproxy.
    package func warnings(adding inherited: [String: String]) -> [String] {
        var warnings = warning.map { [$0] } ?? []
        if proxy != nil {
            warnings += covering(ProxyExceptions(in: inherited).texts).map { found in
                "NO_PROXY: '\(found.exception)' is left out for this program: it covers \(found.host), "
                    + "which would be reached without channel \(found.channel)"
            }
        }
        var owners: [String: String] = [:]
        for channel in channels {
            for (name, reason) in (channel.missing ?? [:]).sorted(by: { $0.key < $1.key }) {
                warnings.append("channel \(channel.name): \(name) is not set: \(reason)")
            }
            for name in (channel.variables ?? [:]).keys.sorted() {
                if let owner = owners[name] {
                    warnings.append(
                        "\(name) is that of channel \(channel.name), not of \(owner); name one with "
                            + "--channel"
                    )
                }
                owners[name] = channel.name
            }
        }
        return warnings
    }
}

extension ClientLease.LeasedChannel {
    /// The hosts and ports of the upstreams.
    fileprivate var servers: [(host: String, port: UInt16)] {
        // A daemon of an earlier version reports only the first host.
        guard let upstreams else { return [(upstreamHost, 80)] }
        return upstreams.map { ($0.host, $0.port) }
    }
}
