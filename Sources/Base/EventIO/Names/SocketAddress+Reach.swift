extension SocketAddress {
    /// The reach of an address (RFC 6890 and IANA's registries of special-purpose addresses).
    package enum Reach: Sendable, Hashable {
        /// This machine: 127.0.0.0/8, ::1, 0.0.0.0/8, ::, unix sockets.
        case loopback
        /// The local link, where clouds place their metadata services.
        ///
        /// 169.254.0.0/16, fe80::/10, and the other metadata addresses of Azure, AWS, Oracle and Alibaba.
        case link
        /// A private network: RFC 1918, fc00::/7, and 100.64.0.0/10 of carriers.
        case site
        /// Multicast, broadcast, documentation, benchmarks, protocols: addresses without a host.
        case special
        /// The Internet.
        case world
    }

    /// The reach of the address.
    ///
    /// An IPv6 address that contains an IPv4 address has the reach of the latter.
    package var reach: Reach {
        guard case .ip(let bytes, _) = kind else { return .loopback }
        return bytes.count == 4
            ? SocketAddress.reach(four: bytes[...]) : SocketAddress.reach(six: bytes)
    }

    private static func reach(four bytes: ArraySlice<UInt8>) -> Reach {
        let bytes = Array(bytes)
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (127, _, _, _), (0, _, _, _): return .loopback
        // 168.63.129.16 belongs to Azure, 192.0.0.192 to Oracle, 100.100.100.200 to Alibaba.
        case (169, 254, _, _), (168, 63, 129, 16), (192, 0, 0, 192), (100, 100, 100, 200):
            return .link
        case (10, _, _, _), (172, 16...31, _, _), (192, 168, _, _), (100, 64...127, _, _):
            return .site
        case (192, 0, 0, _), (192, 0, 2, _), (192, 88, 99, _), (198, 18...19, _, _),
            (198, 51, 100, _), (203, 0, 113, _), (224..., _, _, _):
            return .special
        default: return .world
        }
    }

    private static func reach(six bytes: [UInt8]) -> Reach {
        if bytes[..<12].allSatisfy({ $0 == 0 }) {
            // :: and ::1, and the deprecated IPv4-compatible addresses.
            return bytes[12...14].allSatisfy { $0 == 0 } && bytes[15] < 2 ? .loopback : .special
        }
        // Mapped (::ffff:0:0/96) and translated (64:ff9b::/96, RFC 6052) IPv4.
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        let translated: [UInt8] = [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8)
        if bytes.starts(with: mapped) || bytes.starts(with: translated) {
            return reach(four: bytes[12...])
        }
        // AWS: fd00:ec2::254.
        if bytes == [0xFD, 0, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54] {
            return .link
        }
        if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return .link }
        if bytes[0] & 0xFE == 0xFC { return .site }
        // 2000::/3 is assigned; Teredo, ORCHID, documentation and 6to4 addresses are not hosts.
        guard bytes[0] & 0xE0 == 0x20 else { return .special }
        switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
        case (0x20, 0x01, 0...1, _), (0x20, 0x01, 0x0D, 0xB8), (0x20, 0x02, _, _),
            (0x3F, 0xFF, 0...0x0F, _):
            return .special
        default: return .world
        }
    }
}
