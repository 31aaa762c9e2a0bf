import NetproxyCommands
import NetproxyConfig
import Testing

/// Warnings about settings that expose a credential.
@Suite struct ExposedCredentialTests {
    private func warnings(_ keys: String) throws -> [String] {
        let configuration = try ConfigurationLoader.load(
            text: "channels: { a: { \(keys) } }",
            file: "netproxy.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        return ExposedCredentials.warnings(in: configuration)
    }

    @Test(arguments: [
        (
            "upstream: 'https://a.example', auth: { bearer: 'file:/t', in: query, name: k }",
            "headers"
        ),
        (
            "upstream: 'https://a.example/{credential}', auth: { bearer: 'file:/t', in: path }",
            "off"
        ),
    ])
    func `a credential of the URL is reported if content is not searched`(
        keys: String,
        scrub: String
    ) throws {
        #expect(try warnings(keys) == [])
        #expect(try warnings("\(keys), scrub: content") == [])
        let found = try warnings("\(keys), scrub: \(scrub)")
        #expect(found.count == 1 && found[0].contains("is not searched for the credential of a"))
    }

    @Test func `any Host is reported on a channel with a credential`() throws {
        let keys = "upstream: https://a.example, access: { hosts: ['*'] }"
        #expect(try warnings(keys) == [])
        let found = try warnings("\(keys), auth: { bearer: 'file:/t' }")
        #expect(found.count == 1 && found[0].contains("DNS rebinding"))
        let listed =
            "upstream: https://a.example, access: { hosts: ['*.b'] }, auth: { bearer: 'file:/t' }"
        #expect(try warnings(listed) == [])
    }
}
