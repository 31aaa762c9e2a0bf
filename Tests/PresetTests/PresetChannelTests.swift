import NetproxyConfig
import NetproxyHTTPMessage
import Testing

/// Channels with `preset` and `with`.
@Suite struct PresetChannelTests {
    private func load(_ text: String) -> Result<ProxyConfiguration, ConfigurationErrors> {
        ConfigurationLoader.load(text: text, file: "n.yaml", environment: ["HOME": "/home/a"])
    }

    private func channel(_ keys: String) throws -> ChannelConfiguration {
        try load("channels: { a: { \(keys) } }").get().channels[0]
    }

    /// Returns the errors of a channel, without the name of the file.
    private func errors(_ keys: String) -> [String] {
        switch load("channels:\n  a: { \(keys) }\n") {
        case .success: []
        case .failure(let failure): failure.errors.map { String("\($0)".dropFirst(7)) }
        }
    }

    @Test func `a preset supplies upstream, credential, headers and variables`() throws {
        let channel = try channel("preset: anthropic, with: { key: 'env:K' }")
        #expect(channel.upstreams.map(\.origin.host) == ["api.anthropic.com"])
        #expect(channel.authentication.label == "auth.header x-api-key (env:K)")
        #expect(channel.headers.defaults.map(\.name) == ["anthropic-version"])
        #expect(channel.exec.map(\.name) == ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"])
    }

    @Test func `every key of the channel overrides the preset`() throws {
        let channel = try channel(
            """
            preset: anthropic, with: { key: 'env:K' }, upstream: https://proxy.example/claude,
            headers: { default: { Anthropic-Version: '2026-01-01', X-A: b } },
            exec: { ANTHROPIC_API_KEY: null, MY_KEY: key }, timeouts: { total: 5s }
            """
        )
        #expect(channel.upstreams.map(\.basePath) == ["/claude"])
        #expect(channel.headers.defaults.map(\.value) == ["2026-01-01", "b"])
        #expect(channel.exec.map(\.name) == ["ANTHROPIC_BASE_URL", "MY_KEY"])
        #expect(channel.timeouts.total == .seconds(5))
    }

    @Test func `a credential of the channel replaces that of the preset and its parameter`() throws
    {
        let channel = try channel("preset: anthropic, auth: { bearer: 'env:OAUTH' }")
        #expect(channel.authentication.label == "auth.bearer (env:OAUTH)")
    }

    @Test func `a preset overrides the defaults`() throws {
        let text = """
            defaults: { headers: { default: { Notion-Version: old, X-A: b } }, timeouts: { total: 9s } }
            channels: { a: { preset: notion, with: { key: 'env:K' } } }
            """
        let channel = try load(text).get().channels[0]
        #expect(channel.headers.defaults.map(\.value) == ["2022-06-28", "b"])
        #expect(channel.timeouts.total == .seconds(9))
    }

    @Test func `a text parameter is part of a URL`() throws {
        let jira = try channel(
            "preset: jira, with: { site: acme.atlassian.net, email: a@b.example, key: 'env:K' }"
        )
        #expect(jira.upstreams.map(\.origin.host) == ["acme.atlassian.net"])
        #expect(jira.authentication.label == "auth.basic (env:K)")
    }

    @Test func `an optional parameter that is missing changes the channel`() throws {
        let aws = "access_key_id: AKIDEXAMPLE, secret_access_key: 'env:S', region: eu-west-1"
        let usual = try channel("preset: aws, with: { \(aws) }")
        #expect(usual.upstreams[0].origin.host == "s3.eu-west-1.amazonaws.com")
        let queue = try channel("preset: aws, with: { \(aws), service: sqs }")
        #expect(queue.upstreams[0].origin.host == "sqs.eu-west-1.amazonaws.com")
    }

    @Test(arguments: [
        (
            "preset: antropic",
            [
                "2:16: channels.a.preset: there is no preset 'antropic', did you mean 'anthropic'? "
                    + "netproxy preset lists them"
            ]
        ),
        (
            "preset: anthropic",
            [
                "2:16: channels.a.with.key: required by preset anthropic: "
                    + "https://platform.claude.com/settings/keys"
            ]
        ),
        (
            "preset: anthropic, with: { keys: 'env:K', key: 'env:K' }",
            [
                "2:35: channels.a.with.keys: unknown parameter of preset anthropic, "
                    + "did you mean 'key'?"
            ]
        ),
        (
            "preset: jira, with: { host: x, site: a.example, email: e, key: 'env:K' }",
            [
                "2:30: channels.a.with.host: unknown parameter of preset jira, "
                    + "expected site, email or key"
            ]
        ),
        (
            "upstream: https://a.example, with: { key: 'env:K' }",
            ["2:43: channels.a.with: there is no preset, so it has no parameters"]
        ),
        (
            "preset: anthropic, with: { key: hunter2 }",
            [
                "2:40: channels.a.with.key: a secret is written file:/path, env:NAME, cred:NAME, "
                    + "exec:/path arg or literal:text"
            ]
        ),
        ("preset: [a]", ["2:16: channels.a.preset: expected the name of a preset, found a list"]),
    ])
    func `a mistake in a preset is one error at its place`(keys: String, expected: [String]) {
        #expect(errors(keys) == expected)
    }

    @Test func `defaults have no preset`() {
        let text = """
            defaults: { preset: openai }
            channels: { a: { upstream: https://a.example } }
            """
        guard case .failure(let failure) = load(text) else {
            Issue.record("the configuration is accepted")
            return
        }
        #expect(
            failure.errors.map { "\($0)" }.contains(
                "n.yaml:1:21: defaults.preset: belongs to a channel, not to defaults"
            )
        )
    }

    @Test func `a changed parameter is shown by the keys that it changes, without the secret`()
        throws
    {
        func written(_ key: String) throws -> WrittenValues {
            let with = "with: { key: 'literal:\(key)' }"
            return try load("channels: { a: { preset: openai, \(with) } }").get().written
        }
        let changes = try written("c4nary2").changes(from: written("c4nary1"), channel: "a")
        #expect(changes == ["channels.a.auth.bearer: changed", "channels.a.with.key: changed"])
    }

    @Test func `the schema lists the presets`() {
        #expect(JSONSchema.text.contains("\"preset\": {"))
        #expect(JSONSchema.text.contains("\"enum\": [\"openai\", \"anthropic\""))
    }
}
