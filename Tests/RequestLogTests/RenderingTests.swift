import Bytes
import NetworkCore
import RequestLog
import Testing

@Suite struct RenderingTests {
    private static func record() -> ExchangeRecord {
        var record = Samples.exchange(status: 200)
        record.duration = .microseconds(12_340)
        record.context.retries = [.unauthorized]
        record.context.authorization = AuthorizationFacts(kind: "oauth")
        record.context.authorization?.isRefreshed = true
        return record
    }

    private static func render(_ line: HumanLine, _ style: HumanLine.Style = .plain) -> String {
        let output = OutputBuffer()
        line.encode(to: output, style: style)
        return output.text
    }

    @Test func `an exchange is one line for people`() {
        let line = HumanLine(Self.record(), channel: "orders")
        #expect(
            Self.render(line)
                == "05:06:07.000Z 200 GET    /v1/42  orders  12.3 ms  refreshed retried: unauthorized\n"
        )
    }

    @Test func `a retry that was not made is not called one`() {
        var record = Self.record()
        record.context.retries = [.unauthorized, .budgetExhausted]
        let line = Self.render(HumanLine(record, channel: "orders"))
        #expect(line.hasSuffix("refreshed retried: unauthorized retry_budget_exhausted\n"))
    }

    @Test func `a line of the log looks like the exchange did`() throws {
        var failed = Self.record()
        failed.status = nil
        failed.error = .cancelled
        failed.abortedBy = .client
        for record in [Self.record(), failed] {
            let text = Samples.line(record, LogLabels(channel: "orders"))
            let parsed = try #require(Samples.parsed(text))
            let direct = HumanLine(record, channel: "orders")
            #expect(Self.render(HumanLine(parsed)) == Self.render(direct))
        }
    }

    @Test func `the date is told where it begins`() throws {
        let lines = try ["04T05", "04T06", "05T00"].map { hour in
            let text = Samples.line(Self.record())
                .replacing("2026-03-04T05", with: "2026-03-\(hour)")
            return try #require(Samples.parsed(text))
        }
        var printer = LogPrinter(.human(.plain))
        var shown: [Substring] = []
        for line in lines {
            let text = String(decoding: printer.render([line]), as: UTF8.self)
            shown.append(text.prefix { $0 != " " })
        }
        #expect(
            shown == ["2026-03-04T05:06:07.000Z", "06:06:07.000Z", "2026-03-05T00:06:07.000Z"]
        )
    }

    @Test(arguments: [
        ([:], HumanLine.Style.coloured), (["TERM": "xterm", "NO_COLOR": ""], .coloured),
        (["NO_COLOR": "1"], .plain), (["TERM": "dumb"], .plain),
    ])
    func `who wants no colours gets none`(
        environment: [String: String],
        style: HumanLine.Style
    ) {
        #expect(HumanLine.Style.onTerminal(environment) == style)
    }

    @Test func `colours show the status on a terminal`() {
        let line = HumanLine(Samples.exchange(status: 503), channel: nil)
        #expect(Self.render(line, .coloured).contains("\u{1b}[31m503\u{1b}[0m GET    /v1/42"))
    }

    @Test func `a terminal obeys nothing in a path`() {
        let record = Samples.exchange(status: 200, path: "/\u{1b}[2J\u{9b}2J\nx")
        let text = Self.render(HumanLine(record, channel: nil))
        #expect(text.contains("/\u{fffd}[2J\u{fffd}2J\u{fffd}x"))
    }

    @Test func `another event shows its message and facts`() throws {
        let event = EventRecord(
            time: Samples.time,
            event: .token,
            message: "refreshed",
            facts: [("generation", .number(3))]
        )
        let parsed = try #require(Samples.parsed(Samples.line(event, LogLabels(channel: "orders"))))
        #expect(
            Self.render(HumanLine(parsed))
                == "05:06:07.000Z *** token  refreshed  orders  generation=3\n"
        )
    }

    @Test func `a curl command has placeholders for what the log does not know`() throws {
        var record = Self.record()
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
    func `a curl command sends what the app sent`(
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

    @Test func `a curl command names the credential once`() throws {
        var record = Self.record()
        record.host = "h"
        record.headers = [HTTPField("Authorization", "Bearer s3cret")].compactMap { $0 }
        let text = Samples.line(record, LogLabels(headers: ["Authorization"]))
        let line = try #require(Samples.parsed(text))
        let word = "'authorization: <redacted>'"
        #expect(CurlCommand(line)?.description == "curl http://h/v1/42 -H \(word)")
    }

    @Test(arguments: [
        (99, "99.0 ms"), (100, "100 ms"), (999, "999 ms"), (1000, "1.0 s"), (1520, "1.52 s"),
        (12_340, "12.3 s"),
    ])
    func `a duration has about three digits`(milliseconds: Int, text: String) {
        var record = Samples.exchange(status: 200)
        record.duration = .milliseconds(milliseconds)
        #expect(Self.render(HumanLine(record, channel: nil)).hasSuffix("  \(text)\n"))
    }

    @Test(arguments: [(LogLevel.info, 90), (.warning, 33), (.error, 31)])
    func `what has no status has the colour of its level`(level: LogLevel, colour: Int) throws {
        let event = EventRecord(time: Samples.time, level: level, event: .pool, message: "full")
        let line = try #require(Samples.parsed(Samples.line(event)))
        #expect(Self.render(HumanLine(line), .coloured).contains("\u{1b}[\(colour)m***\u{1b}[0m"))
    }

    @Test(arguments: ["a=1&b=2", "a=&b", "a=b=c", "&a=1&", "a&&b"])
    func `a curl command has the query that the log shows in full`(query: String) throws {
        var record = Samples.minimal(path: "/v1/42?\(query)")
        record.host = "h"
        let text = Samples.line(record, LogLabels(query: .full))
        #expect(text.contains(#""query":"\#(query)""#))
        let line = try #require(Samples.parsed(text))
        #expect(CurlCommand(line)?.description == "curl 'http://h/v1/42?\(query)'")
    }

    @Test(arguments: ["flag", "a,b", "%20"])
    func `a query without an equals sign is what the channel's log says it is`(
        query: String
    ) throws {
        var record = Samples.minimal(path: "/v1/42?\(query)")
        (record.host, record.status) = ("h", 200)
        let text = Samples.line(record, LogLabels(channel: "orders", query: .full))
        let line = try #require(Samples.parsed(text))
        var curl = LogPrinter(.curl, wholeQueries: ["orders"])
        let command = String(decoding: curl.render([line]), as: UTF8.self)
        #expect(command == "curl 'http://h/v1/42?\(query)'\n")
        var archive = LogPrinter(.archive(version: "1.0"), wholeQueries: ["orders"])
        let document = String(decoding: archive.render([line]), as: UTF8.self)
        #expect(document.contains(#""url":"http://h/v1/42?\#(query)""#))
        #expect(document.contains(#"[{"name":"\#(query)","value":""}]"#))
        var other = LogPrinter(.curl, wholeQueries: ["stock"])
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

    /// A value is one word for the shell whatever the app sent, and nothing for the terminal to obey:
    /// a quote with an accent is one character, but not for the shell.
    @Test(arguments: [
        ("'\u{301}; rm -rf ~ #", #"'x-note: '\''́; rm -rf ~ #'"#),
        ("'\u{200d}'`id`", "'x-note: '\\''\u{200d}'\\''`id`'"),
        ("\u{9b}2J", #"'x-note: '"$(printf '\302\233')"'2J'"#),
        ("\u{202e}a", #"'x-note: '"$(printf '\342\200\256')"'a'"#),
        ("a\tb", "'x-note: a\tb'"),
    ])
    func `a curl command quotes what an app has sent`(value: String, word: String) throws {
        var record = Samples.minimal()
        record.host = "h"
        record.headers = [HTTPField("X-Note", value)].compactMap { $0 }
        let text = Samples.line(record, LogLabels(headers: ["X-Note"]))
        let line = try #require(Samples.parsed(text))
        let command = try #require(CurlCommand(line)?.description)
        // Not by characters: canonical equality is not the shell's.
        #expect(Array(command.utf8) == Array("curl http://h/v1/42 -H \(word)".utf8))
    }

    @Test func `a tunnel is no curl command, and has its host for people`() throws {
        var record = Samples.minimal(path: "")
        (record.method, record.host, record.status) = ("CONNECT", "pypi.org:443", 200)
        let line = try #require(Samples.parsed(Samples.line(record)))
        #expect(line["path"] == nil)
        #expect(CurlCommand(line) == nil)
        for human in [HumanLine(line), HumanLine(record, channel: nil)] {
            #expect(Self.render(human) == "05:06:07.000Z 200 CONNECT pypi.org:443  0.0 ms\n")
        }
    }

    @Test func `an error is told with its reason`() throws {
        var record = Samples.exchange(status: 400)
        (record.method, record.target) = ("", "")
        (record.error, record.detail) = (.httpRequestError, "the Host field is missing")
        let text = Samples.line(record)
        #expect(text.contains(#""detail":"the Host field is missing""#))
        let line = try #require(Samples.parsed(text))
        #expect(line["method"] == nil && line["path"] == nil)
        for human in [HumanLine(line), HumanLine(record, channel: nil)] {
            #expect(
                Self.render(human).hasSuffix("http_request_error: the Host field is missing\n")
            )
        }
    }

    @Test func `a refused request is no curl command`() throws {
        let line = try #require(Samples.parsed(Samples.line(Samples.minimal())))
        #expect(CurlCommand(line) == nil)
    }

    @Test func `a HAR document holds the exchanges`() throws {
        var record = Self.record()
        record.host = "api.example.com"
        record.target += "?a=1"
        record.protocolVersion = "HTTP/1.1"
        record.bytesOut = 5
        record.context.timings.firstByte = .milliseconds(10)
        let exchange = try #require(
            Samples.parsed(Samples.line(record, LogLabels(channel: "orders", query: .full)))
        )
        let event = try #require(
            Samples.parsed(
                Samples.line(EventRecord(time: Samples.time, event: .pool, message: "full"))
            )
        )
        let output = OutputBuffer()
        var document = HARDocument()
        document.begin(output, version: "1.0")
        for line in [exchange, event, exchange] { document.append(line, to: output) }
        document.end(output)
        let log = try #require(Samples.parsed(output.text)?["log"])
        #expect(log["version"]?.text == "1.2")
        let entries = try #require(log["entries"]?.list)
        #expect(entries.count == 2)
        let request = try #require(entries[0]["request"])
        #expect(request["url"]?.text == "http://api.example.com/v1/42?a=1")
        #expect(request["queryString"]?.list?.first?["value"]?.text == "1")
        #expect(entries[0]["response"]?["status"]?.integer == 200)
        #expect(entries[0]["response"]?["statusText"]?.text == "OK")
        #expect(entries[0]["response"]?["content"]?["size"]?.integer == 5)
        #expect(entries[0]["timings"]?["wait"]?.integer == 10)
        #expect(entries[0]["timings"]?["receive"]?.number == 2.34)
    }

    @Test(arguments: [
        // HAR 1.2: the sum of all, but for ssl, which is in connect.
        (true, ["blocked": 1.5, "dns": 2, "connect": 7, "ssl": 4, "wait": 10, "receive": 0.5]),
        (false, ["blocked": 1.5, "dns": 2, "connect": 7, "ssl": 4, "wait": 10.5, "receive": 0]),
    ])
    func `the phases of a HAR entry add up to its time`(
        isAnswered: Bool,
        phases: [String: Double]
    ) throws {
        var record = Self.record()
        record.duration = .milliseconds(21)
        record.context.timings.queue = .milliseconds(1)
        record.context.timings.dns = .milliseconds(2)
        record.context.timings.connect = .milliseconds(3)
        record.context.timings.tls = .milliseconds(4)
        record.context.timings.firstByte = isAnswered ? .milliseconds(10) : nil
        var authorization = AuthorizationFacts(kind: "oauth")
        authorization.wait = .microseconds(500)
        record.context.authorization = authorization
        let line = try #require(Samples.parsed(Samples.line(record)))
        let output = OutputBuffer()
        var document = HARDocument()
        document.begin(output, version: "1.0")
        document.append(line, to: output)
        document.end(output)
        let entry = try #require(Samples.parsed(output.text)?["log"]?["entries"]?.list?.first)
        for (name, milliseconds) in phases {
            #expect(entry["timings"]?[name]?.number == milliseconds, "\(name)")
        }
        #expect(entry["time"]?.number == 21)
    }

    @Test func `an archive has every member that HAR 1.2 demands`() throws {
        var record = Samples.exchange(status: 200)
        (record.host, record.protocolVersion) = ("h", "HTTP/1.1")
        (record.bytesOut, record.duration) = (5, .milliseconds(3))
        record.headers = [HTTPField("Accept", "*/*")].compactMap { $0 }
        record.responseHeaders = [HTTPField("Content-Type", "text/plain"), HTTPField("Age", "1")]
            .compactMap { $0 }
        let labels = LogLabels(channel: "orders", headers: ["Accept", "Content-Type", "Age"])
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        var printer = LogPrinter(.archive(version: "1.0"))
        let bytes = printer.render([line]) + printer.render([line]) + printer.end()
        let entry =
            #"{"startedDateTime":"2026-03-04T05:06:07.000089Z","time":3,"request":{"method":"GET","#
            + #""url":"http://h/v1/42","httpVersion":"HTTP/1.1","cookies":[],"headers":"#
            + #"[{"name":"accept","value":"*/*"}],"queryString":[],"headersSize":-1,"bodySize":0},"#
            + #""response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"#
            + #""headers":[{"name":"content-type","value":"text/plain"},"#
            + #"{"name":"age","value":"1"}],"content":{"size":5,"mimeType":"text/plain"},"#
            + #""redirectURL":"","headersSize":-1,"bodySize":5},"cache":{},"#
            + #""timings":{"send":0,"receive":0,"blocked":-1,"dns":-1,"connect":-1,"ssl":-1,"wait":3},"#
            + #""_channel":"orders","_requestId":"r1"}"#
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"log":{"version":"1.2","creator":{"name":"netproxy","version":"1.0"},"entries":["#
                + "\n\(entry),\n\(entry)\n]}}\n"
        )
    }

    @Test(arguments: [
        (nil, "/v1/42?a=1", "http://localhost/v1/42?a=1"), (nil, "", "http://localhost/"),
        ("a.example:443", "", "http://a.example:443/"),
    ])
    func `every URL of an archive is absolute`(host: String?, target: String, url: String) throws {
        var record = Self.record()
        (record.host, record.target) = (host, target)
        let labels = LogLabels(channel: "orders", query: .full)
        let line = try #require(Samples.parsed(Samples.line(record, labels)))
        var printer = LogPrinter(.archive(version: "1.0"))
        let text = String(decoding: printer.render([line]) + printer.end(), as: UTF8.self)
        let entry = try #require(Samples.parsed(text)?["log"]?["entries"]?.list?.first)
        #expect(entry["request"]?["url"]?.text == url)
    }

    @Test func `a HAR document without exchanges is valid`() throws {
        let output = OutputBuffer()
        let document = HARDocument()
        document.begin(output, version: "1.0")
        document.end(output)
        #expect(Samples.parsed(output.text)?["log"]?["entries"]?.list == [])
    }
}
