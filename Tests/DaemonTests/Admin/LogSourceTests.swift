import NetproxyConfig
import NetproxyRequestLog
import NetproxySettings
import TestSupport
import Testing

@testable import NetproxyService

/// The log settings that the daemon sends to a log reader who cannot read the configuration.
@Suite struct LogSourceTests {
    @Test func `the log source survives encoding and contains no secret`() throws {
        let text = """
            state: /s
            log: { directory: /l, format: logfmt }
            listen: [127.0.0.1:8080]
            admin: off
            channels:
              a:
                upstream: https://a.test/v1
                log: { query: full }
                auth: { bearer: literal:hush, in: query, name: key }
                access: { key: literal:hush }
              b: { upstream: "https://b.test", auth: { bearer: literal:hush } }
            """
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "test.yaml",
            environment: [:]
        ).get()
        let json = LogSource(configuration).json
        #expect(!json.contains("hush"))
        let read = try #require(LogSource(json: json))
        #expect((read.directory, read.channels) == ("/l", ["a", "b"]))
        #expect((read.output, read.format) == (.file, .logfmt))
        #expect(read.wholeQueries == ["a"])
        #expect(
            read.places == [
                "a": .parameter("key"), "b": .field(name: "Authorization", prefix: nil),
            ]
        )
        #expect(read.json == json)
    }

    @Test func `another JSON document is not a log source`() {
        #expect(LogSource(json: #"{"type":"urn:netproxy:error"}"#) == nil)
    }
}
