package import NetproxyHTTPMessage

/// The hosts that a server may name to netproxy if only that server vouches for them.
///
/// netproxy reaches hosts that others cannot: a server elsewhere could name an address of this machine
/// or its networks and make netproxy send requests there. The written address or name is judged, not
/// the addresses of the name.
package enum NamedHost {
    /// Whether a server may name a URL.
    ///
    /// It may name the same host, and hosts outside this machine and its networks. A server on this
    /// machine may name any host.
    package static func may(_ server: Origin, name other: Origin) -> Bool {
        isOfThisMachine(server.host) || server.host == other.host || !isNear(other.host)
    }

    /// Whether a host is this machine, by its name or as an address.
    static func isOfThisMachine(_ host: String) -> Bool { Origin.isLoopback(plain(host)) }

    /// Whether a host is this machine, or an address that only its own networks have.
    static func isNear(_ host: String) -> Bool {
        let host = plain(host)
        guard let address = IPAddress(host) else { return Origin.isLoopback(host) }
        return isNear(address.unmapped)
    }

    /// A name without the dot of the root.
    private static func plain(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private static func isNear(_ address: IPAddress) -> Bool {
        switch address {
        case .v4: return isIn(nearNetworks, address)
        case .v6(let bits):
            // The IPv4 address in a translated one (RFC 6052 §2.1) and in a 6to4 one (RFC 3056 §2).
            if isIn([("64:ff9b::", 96)], address) {
                return isNear(.v4(UInt32(truncatingIfNeeded: bits)))
            }
            if isIn([("2002::", 16)], address) {
                return isNear(.v4(UInt32(truncatingIfNeeded: bits >> 80)))
            }
            // The only global unicast addresses in use.
            return !isIn([("2000::", 3)], address) || isIn([("2001::", 23)], address)
        }
    }

    /// This machine, the link and one's own networks, multicast, and where clouds keep their metadata
    /// services (RFC 6890).
    private static let nearNetworks = [
        ("0.0.0.0", 8), ("10.0.0.0", 8), ("100.64.0.0", 10), ("127.0.0.0", 8),
        ("168.63.129.16", 32), ("169.254.0.0", 16), ("172.16.0.0", 12), ("192.0.0.0", 24),
        ("192.168.0.0", 16), ("198.18.0.0", 15), ("224.0.0.0", 3),
    ]

    private static func isIn(_ networks: [(String, Int)], _ address: IPAddress) -> Bool {
        networks.contains { text, length in
            IPAddress(text).map { address.isIn($0, length: length) } ?? false
        }
    }
}
