import NetproxyBytes
import NetproxyRequestLog
import NetproxySettings
import NetworkCore
import Testing

/// Tests of curl commands made from logged requests.
@Suite struct CurlCommandTests {
    @Test func `a curl command has placeholders for facts that are not logged`() throws {
        var record = Samples.retried()
        record.method = "POST"
        record.scheme = "https"
        record.host = "api.example.com"
        record.target = "/v1/it's?a=1&b=2"
        record.bytesIn = 12
        record.headers = [HTTPField("Accept", "text/plain")].compactMap { $0 }
        let labels = LogLabels(channel: "orders", headers: ["Accept"])
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        #expect(
            CurlCommand(line)?.description
                == #"curl -X POST 'https://api.example.com/v1/it'\''s?a=<a>&b=<b>' "#
                + #"-H 'accept: text/plain' -H 'Authorization: Bearer <token of channel orders>' "#
                + #"--data-binary '@<the body of 12 bytes>'"#
        )
    }

    @Test(arguments: [
        ("GET", "/v1/a", 3, "curl -X GET http://h/v1/a --data-binary '@<the body of 3 bytes>'"),
        ("GET", "/v1/{a,b}", 0, "curl --globoff 'http://h/v1/{a,b}'"),
        ("GET", "/v1/a[1-3]", 0, "curl --globoff 'http://h/v1/a[1-3]'"),
        ("GET", "/v1/a/../b", 0, "curl --path-as-is http://h/v1/a/../b"),
        ("GET", "/v1/a/%2E%2e/b", 0, "curl --path-as-is 'http://h/v1/a/%2E%2e/b'"),
        ("HEAD", "/v1/a.b", 0, "curl --head http://h/v1/a.b"),
        ("OPTIONS", "*", 0, "curl -X OPTIONS --request-target '*' http://h"),
    ])
    func `a curl command sends the same request as the client`(
        method: String,
        path: String,
        bytesIn: Int,
        command: String
    ) throws {
        var record = Samples.minimal(path: path)
        (record.method, record.host, record.bytesIn) = (method, "h", bytesIn)
        let line = try #require(Samples.parsed(Samples.line(record)))
        #expect(CurlCommand(line)?.description == command)
    }

    @Test(arguments: [
        (
            CurlCommand.CredentialLocation.parameter("key"), "/v1/42?a=1",
            "'https://h/v1/42?a=1&key=<credential C>'"
        ),
        (.parameter("key"), "/v1/42", "'https://h/v1/42?key=<credential C>'"),
        (.path, "/bot{credential}/a", "'https://h/bot<credential C>/a'"),
        (.field(name: "X-Key", prefix: ""), "/v1", "https://h/v1 -H 'X-Key: <token C>'"),
        (
            .field(name: "Authorization", prefix: "Token "), "/v1",
            "https://h/v1 -H 'Authorization: Token <token C>'"
        ),
    ])
    func `a curl command names the credential in its place`(
        place: CurlCommand.CredentialLocation,
        target: String,
        command: String
    ) throws {
        var record = Samples.retried()
        (record.scheme, record.host, record.target) = ("https", "h", target)
        let labels = LogLabels(channel: "orders", query: .full)
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        let expected = command.replacing(" C>", with: " of channel orders>")
        let found = CurlCommand(line, query: .full, place: place)?.description
        #expect(found == "curl \(expected)")
    }

    @Test(arguments: [
        (CredentialNotation.token, "Authorization: Bearer <token C>"),
        (
            CredentialNotation(prefix: "Basic ", noun: "credential"),
            "Authorization: Basic <credential C>"
        ),
        (CredentialNotation(field: nil, prefix: "", noun: "credential"), "<credential field C>"),
    ])
    func `a curl command has the notation of the credential's kind`(
        notation: CredentialNotation,
        field: String
    ) throws {
        var record = Samples.retried()
        record.host = "h"
        let line = try #require(
            Samples.parsed(Samples.line(record, LogLabels(channel: "orders")))
        )
        let kind = try #require(line[.authKind]?.text)
        var printer = LogPrinter(.upstreamCurl, notations: [kind: notation])
        let command = String(decoding: printer.render([line]), as: UTF8.self)
        let expected = field.replacing(" C>", with: " of channel orders>")
        #expect(command == "curl http://h/v1/42 -H '\(expected)'\n")
    }

    @Test func `a curl command names the credential once`() throws {
        var record = Samples.retried()
        record.host = "h"
        record.headers = [HTTPField("Authorization", "Bearer s3cret")].compactMap { $0 }
        let text = Samples.line(record, LogLabels(headers: ["Authorization"]))
        let line = try #require(Samples.parsed(text))
        let word = "'authorization: <redacted>'"
        #expect(CurlCommand(line)?.description == "curl http://h/v1/42 -H \(word)")
    }

    @Test(arguments: ["a=1&b=2", "a=&b", "a=b=c", "&a=1&", "a&&b"])
    func `a curl command has the whole query if it was logged`(query: String) throws {
        var record = Samples.minimal(path: "/v1/42?\(query)")
        record.host = "h"
        let text = Samples.line(record, LogLabels(query: .full))
        #expect(text.contains(#""query":"\#(query)""#))
        let line = try #require(Samples.parsed(text))
        #expect(CurlCommand(line)?.description == "curl 'http://h/v1/42?\(query)'")
    }

    @Test(arguments: ["flag", "a,b", "%20"])
    func `the channel's query mode decides how a query without values is read`(
        query: String
    ) throws {
        var record = Samples.minimal(path: "/v1/42?\(query)")
        (record.host, record.status) = ("h", 200)
        let text = Samples.line(record, LogLabels(channel: "orders", query: .full))
        let line = try #require(Samples.parsed(text))
        var curl = LogPrinter(.upstreamCurl, wholeQueries: ["orders"])
        let command = String(decoding: curl.render([line]), as: UTF8.self)
        #expect(command == "curl 'http://h/v1/42?\(query)'\n")
        var archive = LogPrinter(.archive(version: "1.0"), wholeQueries: ["orders"])
        let document = String(decoding: archive.render([line]), as: UTF8.self)
        #expect(document.contains(#""url":"http://h/v1/42?\#(query)""#))
        #expect(document.contains(#"[{"name":"\#(query)","value":""}]"#))
        var other = LogPrinter(.upstreamCurl, wholeQueries: ["stock"])
        let guess = String(decoding: other.render([line]), as: UTF8.self)
        #expect(guess.contains("=<"))
    }

    @Test func `a curl command keeps a field without a value`() throws {
        var record = Samples.minimal()
        record.host = "h"
        record.headers = [HTTPField("X-Empty", "")].compactMap { $0 }
        let text = Samples.line(record, LogLabels(headers: ["X-Empty"]))
        let line = try #require(Samples.parsed(text))
        #expect(CurlCommand(line)?.description == "curl http://h/v1/42 -H 'x-empty;'")
    }

    /// A value is one word for the shell and contains no terminal commands.
    ///
    /// A quote with a combining accent is one character for Swift, but not for the shell.
    @Test(arguments: [
        ("'\u{301}; rm -rf ~ #", #"'x-note: '\''́; rm -rf ~ #'"#),
        ("'\u{200d}'`id`", "'x-note: '\\''\u{200d}'\\''`id`'"),
        ("\u{9b}2J", #"'x-note: '"$(printf '\302\233')"'2J'"#),
        ("\u{202e}a", #"'x-note: '"$(printf '\342\200\256')"'a'"#),
        ("a\tb", "'x-note: a\tb'"),
    ])
    func `a curl command quotes the client's values`(value: String, word: String) throws {
        var record = Samples.minimal()
        record.host = "h"
        record.headers = [HTTPField("X-Note", value)].compactMap { $0 }
        let text = Samples.line(record, LogLabels(headers: ["X-Note"]))
        let line = try #require(Samples.parsed(text))
        let command = try #require(CurlCommand(line)?.description)
        // Compared as bytes: the shell does not know canonical equivalence.
        #expect(Array(command.utf8) == Array("curl http://h/v1/42 -H \(word)".utf8))
    }

    @Test func `a tunnel has no curl command, and is shown with its host`() throws {
        var record = Samples.minimal(path: "")
        (record.method, record.host, record.status) = ("CONNECT", "pypi.org:443", 200)
        let line = try #require(Samples.parsed(Samples.line(record)))
        #expect(line["path"] == nil)
        #expect(CurlCommand(line) == nil)
        for human in [HumanLine(line), HumanLine(record, channel: nil)] {
            #expect(
                Samples.text(of: human)
                    == "2026-03-04T05:06:07.000Z 200 CONNECT           0.0 ms pypi.org:443\n"
            )
        }
    }

    @Test func `a refused request has no curl command`() throws {
        let line = try #require(Samples.parsed(Samples.line(Samples.minimal())))
        #expect(CurlCommand(line) == nil)
    }
}
