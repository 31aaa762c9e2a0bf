package import NetproxyConfig
package import NetproxyRequestLog

extension Entrances {
    /// Creates the entrances of a configuration.
    package init(_ configuration: ProxyConfiguration) {
        let shared = Entrance(configuration.listen)
        self.init(
            channels: Dictionary(
                configuration.channels.map { channel in
                    var entrance = channel.match.listen.map { Entrance([$0]) } ?? shared
                    if channel.match.listen == nil {
                        entrance.prefix = channel.match.path
                        entrance.host = channel.match.hosts.first { !$0.hasPrefix("*") }
                    }
                    let base = channel.upstreams.first?.basePath ?? ""
                    entrance.basePath = base.isEmpty ? "/" : base
                    entrance.demandsKey = channel.access.key != nil
                    return (channel.name, entrance)
                }
            ) { first, _ in first },
            shared: shared
        )
    }
}

extension Entrances.Entrance {
    fileprivate init(_ addresses: [ListenAddress]) {
        self.init()
        for place in addresses {
            switch place {
            case .tcp(let endpoint) where address == nil:
                // Clients reach a wildcard address over loopback.
                let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][endpoint.host] ?? endpoint.host
                address = HostPort(host: host, port: endpoint.port).description
            case .unix(let path) where socket == nil: socket = path
            case .tcp, .unix, .systemd: break
            }
        }
    }
}
