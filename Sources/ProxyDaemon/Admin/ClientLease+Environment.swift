extension ClientLease {
    /// The variables of a program that is to use the proxy.
    ///
    /// - `http_proxy` and `HTTP_PROXY`: curl reads the first alone, Go prefers the second; the key
    ///   is the password. `https_proxy` stays as it is: tunnels lead to the hosts of `connect` alone,
    ///   and netproxy adds no credential inside them.
    /// - `no_proxy` and `NO_PROXY`: what was there, and this machine, so that a program still
    ///   reaches its own servers; but not the channels' upstreams.
    /// - `NODE_USE_ENV_PROXY`: makes Node (24 and later) read the variables at all.
    /// - `NETPROXY_KEY`, `NETPROXY_<CHANNEL>_URL`: for programs that know netproxy or accept a
    ///   base URL.
    ///
    /// - Parameter inherited: the variables to begin with.
    /// - Returns: all of them.
    package func environment(adding inherited: [String: String]) -> [String: String] {
        var variables = inherited
        variables["NETPROXY_KEY"] = key
        for channel in channels {
            let name = channel.name.uppercased().replacing("-", with: "_")
            variables["NETPROXY_\(name)_URL"] = channel.url
        }
        guard let proxy else { return variables }
        for name in ["http_proxy", "HTTP_PROXY"] {
            variables[name] = "http://netproxy:\(key)@\(proxy)"
        }
        let present = inherited["no_proxy"] ?? inherited["NO_PROXY"] ?? ""
        let upstreams = Set(channels.map(\.upstreamHost))
        var exceptions = present.split(separator: ",").map { $0.filter { $0 != " " } }
        for name in ["localhost", "127.0.0.1", "::1"] where !exceptions.contains(name) {
            exceptions.append(name)
        }
        exceptions.removeAll { upstreams.contains($0) }
        // With an upstream on this machine its address is no exception, but the proxy itself is:
        // Python and Go understand a port here. curl does not, asks the proxy, and is served.
        exceptions.append(proxy)
        for name in ["no_proxy", "NO_PROXY"] {
            variables[name] = exceptions.joined(separator: ",")
        }
        variables["NODE_USE_ENV_PROXY"] = "1"
        return variables
    }
}
