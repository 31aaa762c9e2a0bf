import NetproxyEventIO
import Testing

@Suite struct ReachTests {
    @Test(arguments: [
        ("127.0.0.1", SocketAddress.Reach.loopback), ("127.255.255.254", .loopback),
        ("0.0.0.0", .loopback), ("::1", .loopback), ("::", .loopback),
        ("::ffff:127.0.0.1", .loopback), ("64:ff9b::7f00:1", .loopback),
        ("169.254.169.254", .link), ("fe80::1", .link), ("febf::1", .link),
        ("fd00:ec2::254", .link),
        ("::ffff:169.254.169.254", .link), ("168.63.129.16", .link), ("192.0.0.192", .link),
        ("100.100.100.200", .link),
        ("10.0.0.1", .site), ("172.16.0.1", .site), ("172.31.255.255", .site),
        ("192.168.1.1", .site), ("100.64.0.1", .site), ("100.127.255.255", .site),
        ("fc00::1", .site),
        ("fdff::1", .site), ("::ffff:10.0.0.1", .site), ("64:ff9b::a00:1", .site),
        ("224.0.0.1", .special), ("255.255.255.255", .special), ("240.0.0.1", .special),
        ("192.0.2.1", .special), ("198.18.0.1", .special), ("198.51.100.7", .special),
        ("203.0.113.9", .special), ("ff02::1", .special), ("2001:db8::1", .special),
        ("2002:7f00:1::1", .special), ("2001::1", .special), ("::7f00:1", .special),
        ("fec0::1", .special), ("64:ff9b:1::1", .special), ("100::1", .special),
        ("1.1.1.1", .world), ("172.15.255.255", .world), ("172.32.0.1", .world),
        ("100.63.255.255", .world), ("100.128.0.1", .world), ("169.253.1.1", .world),
        ("192.0.1.1", .world), ("223.255.255.255", .world), ("2606:4700::1111", .world),
        ("2a00:1450::1", .world), ("64:ff9b::101:101", .world), ("::ffff:1.1.1.1", .world),
    ])
    func `the reach of an address follows the registries`(
        text: String,
        reach: SocketAddress.Reach
    ) throws {
        let address = try #require(SocketAddress(ip: text, port: 80))
        #expect(address.reach == reach)
    }
}
