import NetproxyConfig
import NetproxyPath
import Testing

/// Proxies of the environment that netproxy does not use.
@Suite struct IgnoredProxyTests {
    private func note(_ environment: [String: String], _ channel: String) throws -> String? {
        let configuration = try ConfigurationLoader.load(
            text: "channels: { a: { \(channel) } }\n",
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        return IgnoredProxy.note(on: configuration, in: environment)
    }

    @Test(arguments: [
        ("HTTPS_PROXY", "upstream: https://a.example", true),
        ("https_proxy", "upstream: https://a.example", true),
        ("ALL_PROXY", "upstream: https://a.example", true),
        ("HTTP_PROXY", "upstream: http://a.example", true),
        ("HTTP_PROXY", "upstream: https://a.example", false),
        ("NO_PROXY", "upstream: https://a.example", false),
        ("HTTPS_PROXY", "upstream: https://127.0.0.1", false),
        ("HTTPS_PROXY", "upstream: https://a.example, proxy: http://proxy.example:3128", false),
    ])
    func `a variable that would apply to a channel is named`(
        variable: String,
        channel: String,
        isNamed: Bool
    ) throws {
        let note = try note([variable: "http://proxy.example:3128"], channel)
        #expect(
            note?.contains("the environment has \(variable), which netproxy does not use")
                == (isNamed ? true : nil)
        )
    }

    @Test func `an empty variable names no proxy`() throws {
        #expect(try note(["HTTPS_PROXY": ""], "upstream: https://a.example") == nil)
    }
}
