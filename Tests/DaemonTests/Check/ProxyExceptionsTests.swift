import NetproxyCommands
import NetproxyConfig
import Testing

/// `NO_PROXY` as parsed by curl, Go, Python and Node; the broadest interpretation counts.
@Suite struct ProxyExceptionsTests {
    @Test(arguments: [
        "api.example.com", "API.Example.com", ".example.com", "example.com", "*.example.com",
        "*example.com", "*", "com", "pi.example.com", "api.example.com.", "api.example.com:443",
    ])
    func `an exception covers a host if any client applies it to the host`(text: String) {
        let found = ProxyExceptions("corp.test \(text),other.test")
            .covering(host: "api.example.com", port: 443)
        #expect(found == [text])
    }

    @Test(arguments: [
        "", "other.com", "api.example.com:80", "www.api.example.com", "example.co", "api",
        "10.0.0.0/8",
    ])
    func `other exceptions do not cover the host`(text: String) {
        #expect(ProxyExceptions(text).covering(host: "api.example.com", port: 443).isEmpty)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.0.0.0/8", true), ("10.1.2.3", "10.1.2.3", true),
        ("10.1.2.3", "10.1.2.3/32", true), ("11.1.2.3", "10.0.0.0/8", false),
        ("10.1.2.3", "0.0.0.0/0", true), ("10.1.2.3", "10.0.0.0/99", false),
        ("2001:db8::1", "2001:db8::/32", true), ("2001:db9::1", "2001:db8::/32", false),
        ("2001:db8::1", "[2001:db8::1]:80", true), ("2001:db8::1", "2001:db8::1", true),
    ])
    func `a network covers its addresses`(host: String, text: String, isCovered: Bool) {
        #expect(ProxyExceptions(text).covering(host: host, port: 80).isEmpty != isCovered)
    }

    @Test func `a check warns about channels that programs would bypass`() throws {
        let configuration = try ConfigurationLoader.load(
            text: """
                channels:
                  orders: { upstream: [https://api.example.com, https://spare.test] }
                  free: { upstream: http://127.0.0.1:1 }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/a"]
        ).get()
        let warnings = ProxyExceptions.warnings(
            for: configuration,
            in: ["no_proxy": "localhost,.example.com", "NO_PROXY": "spare.test"]
        )
        #expect(warnings.count == 2)
        #expect(
            warnings[0].contains("'.example.com', which covers api.example.com of channel orders")
        )
        #expect(warnings[1].contains("'spare.test'"))
        #expect(ProxyExceptions.warnings(for: configuration, in: [:]).isEmpty)
    }
}
