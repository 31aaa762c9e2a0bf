import NetproxyHTTPMessage
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", IPAddress.v4(0x7F00_0001)), ("255.255.255.255", .v4(0xFFFF_FFFF)),
        ("::", .v6(0)), ("::1", .v6(1)), ("2001:db8::1", .v6(0x2001_0DB8 << 96 | 1)),
        ("::ffff:10.0.0.1", .v6(0xFFFF_0A00_0001)),
        ("1:2:3:4:5:6:7:8", .v6(0x0001_0002_0003_0004_0005_0006_0007_0008)),
    ])
    func `an address is parsed from its text`(text: String, address: IPAddress) {
        #expect(IPAddress(text) == address)
    }

    @Test(arguments: [
        "", "localhost", "[::1]", "127.1", "01.2.3.4", "1.2.3.256", "1.2.3.4.5", "fe80::1%eth0",
        ":::", "1::2::3", "12345::", "::1 ",
    ])
    func `any other text is not an address`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
