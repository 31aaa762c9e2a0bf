import NetproxyCommands
import NetproxyConfig
import Testing

/// Warnings about channels whose credential every user of the machine can use.
@Suite struct OpenChannelTests {
    private func warning(
        _ keys: String,
        listen: String = "[127.0.0.1:8080]"
    ) throws -> String? {
        let text = """
            listen: \(listen)
            channels:
              llm: { upstream: https://a.example, \(keys) }
              open: { upstream: https://b.example }
            """
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "netproxy.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        return OpenChannels.warning(in: configuration)
    }

    @Test(arguments: [
        "auth: { bearer: 'file:/t' }", "headers: { secret: { X-Key: 'file:/t' } }",
        "auth: { bearer: 'file:/t' }, access: { origins: ['https://a.example'] }",
    ])
    func `a channel on a shared port is reported, because every user can use its credential`(
        keys: String
    ) throws {
        let warning = try #require(try warning(keys))
        #expect(
            warning.hasPrefix("every user of this machine can use the credential of llm through ")
        )
        #expect(warning.contains("127.0.0.1:8080") && warning.contains("access.key"))
        #expect(!warning.contains("open"))
    }

    @Test func `a channel with its own port is reported`() throws {
        let keys = "auth: { bearer: 'file:/t' }, match: { listen: '127.0.0.1:9' }"
        #expect(try warning(keys, listen: "['unix:/s']")?.contains("127.0.0.1:9") == true)
    }

    @Test(arguments: [
        "auth: { bearer: 'file:/t' }, access: { key: 'file:/k' }",
        "auth: { bearer: 'file:/t' }, access: { users: [1000] }",
        "pool: {}",
    ])
    func `a channel that authenticates its clients or has no credential is not reported`(
        keys: String
    ) throws {
        #expect(try warning(keys) == nil)
    }

    @Test func `a channel on a unix socket is not reported`() throws {
        #expect(try warning("auth: { bearer: 'file:/t' }", listen: "['unix:/s']") == nil)
    }
}
