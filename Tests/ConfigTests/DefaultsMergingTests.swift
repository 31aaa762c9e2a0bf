import NetproxyConfig
import NetproxyHTTPMessage
import NetproxySettings
import Testing

@Suite struct DefaultsMergingTests {
    private let defaults = """
        defaults:
          headers: { default: { User-Agent: d, Accept-Language: en }, remove: [X-A] }
          timeouts: { connect: 1s, idle: 2s }
          retry: { status: [500] }
          auth: { bearer: env:TOKEN, on_client_credential: reject }

        """

    private func channel(_ lines: String) throws -> ChannelConfiguration {
        try load("\(defaults)channels:\n  a: { upstream: https://a.example, \(lines) }\n").channels[
            0
        ]
    }

    @Test func `maps are merged key by key`() throws {
        let timeouts = try channel("timeouts: { idle: 9s }").timeouts
        #expect(timeouts.connect == .seconds(1))
        #expect(timeouts.idle == .seconds(9))
        #expect(timeouts.response == .seconds(600))
    }

    @Test func `lists are replaced`() throws {
        #expect(try channel("retry: { status: [503] }").retry.status == [503])
        #expect(try channel("headers: { remove: [] }").headers.remove.isEmpty)
    }

    @Test func `header names are merged case-insensitively, and null removes one`() throws {
        let fields = try channel("headers: { default: { user-agent: c, Accept-Language: null } }")
            .headers.defaults
        #expect(fields == [HeaderField(name: "user-agent", value: "c")])
    }

    @Test func `null removes a parameter`() throws {
        let text = """
            defaults: { auth: { oauth: { parameters: { p: d, q: d } } } }
            channels:
              a:
                upstream: https://a.example
                auth:
                  oauth:
                    token_url: https://l.example/t
                    client_id: a
                    client_auth: none
                    parameters: { p: null }
            """
        guard let settings = try load(text).channels[0].credentials.first?.oauth else {
            Issue.record("there is no auth.oauth")
            return
        }
        #expect(settings.parameters.map(\.name) == ["q"])
    }

    @Test func `the channel's kind of credential replaces the default's`() throws {
        let channel = try channel("auth: { header: { name: X-Key, value: env:KEY } }")
        let settings = channel.authentication.settings(HeaderSettings.self)
        #expect(settings?.name == "X-Key" && settings?.value == .environment("KEY"))
        #expect(channel.onClientCredential == .reject)
    }

    @Test(arguments: ["auth: off", "auth: \"off\"", "auth: null"])
    func `a channel can switch off the default credential`(line: String) throws {
        #expect(try channel(line).authentication == .none)
    }

    @Test func `a channel with only a name has the defaults`() throws {
        let text = """
            defaults: { upstream: https://a.example, timeouts: { idle: 2s } }
            channels:
              a:
            """
        let channel = try load(text).channels[0]
        #expect(channel.upstreams.map(\.origin.host) == ["a.example"])
        #expect(channel.timeouts.idle == .seconds(2))
    }

    @Test func `channels keep the order of the file`() throws {
        let text =
            "channels:\n  z: { upstream: https://z.example }\n  b: { upstream: https://b.example }\n"
        #expect(try load(text).channels.map(\.name) == ["z", "b"])
    }
}
