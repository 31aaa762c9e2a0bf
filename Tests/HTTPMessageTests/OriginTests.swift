import NetproxyHTTPMessage
import Testing

@Suite struct OriginTests {
    @Test(arguments: [
        "localhost", "LocalHost", "a.localhost", "127.0.0.1", "127.255.0.9", "::1",
        "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7f00:1",
    ])
    func `a loopback host is recognized in every spelling`(host: String) {
        #expect(Origin(scheme: .http, host: host).isLoopback)
    }

    @Test(arguments: [
        "localhost.example", "notlocalhost", "10.0.0.1", "127.0.0.256", "127.0.0.1.example",
        "127.+0.-0.1", "127.0.1", "128.0.0.1", "::",
        "::2", "1::1", "::ffff:128.0.0.1", "::127.0.0.1", "",
    ])
    func `any other host is not loopback`(host: String) {
        #expect(!Origin(scheme: .http, host: host).isLoopback)
    }
}
