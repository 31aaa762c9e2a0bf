import FoundationEssentials
import NetproxyBytes
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetproxySettings
import NetworkCore
import Testing

@Suite struct LogFormatTests {
    private static var record: ExchangeRecord {
        var record = Samples.minimal()
        record.scheme = "https"
        record.host = "api.example.com:8443"
        record.target = "/v1/42?page=2"
        record.protocolVersion = "HTTP/1.1"
        record.status = 200
        record.bytesOut = 3456
        record.duration = .microseconds(12_340)
        record.context.upstreamAddress = "192.0.2.1:443"
        record.context.attempts = 3
        record.context.retries = [.unauthorized, .status(503)]
        var facts = AuthorizationFacts(kind: "oauth")
        facts.generation = 7
        record.context.authorization = facts
        record.context.timings.connect = .milliseconds(2)
        record.headers = [
            HTTPField("User-Agent", "it's \"me\""), HTTPField("Referer", "http://a/b"),
            HTTPField("X-Number", "12"), HTTPField("Authorization", "Bearer s3cret"),
        ].compactMap { $0 }
        return record
    }

    private static let labels = LogLabels(
        channel: "orders",
        headers: ["User-Agent", "Referer", "X-Number", "Authorization"]
    )

    private func text(
        _ format: LogFormat,
        _ record: ExchangeRecord = LogFormatTests.record
    ) throws -> String {
        let line = try #require(
            Samples.parsed(String(Samples.line(record, Self.labels).dropLast()))
        )
        let output = OutputBuffer()
        format.append(line, to: output)
        return output.text
    }

    @Test func `logfmt is a line of key-value pairs`() throws {
        #expect(
            try text(.logfmt)
                == "time=2026-03-04T05:06:07.000089Z level=warning channel=orders event=exchange "
                + "request_id=r1 client=127.0.0.1:5000 method=GET scheme=https "
                + "host=api.example.com:8443 path=/v1/42 query=page protocol=HTTP/1.1 status=200 "
                + "bytes_in=0 bytes_out=3456 duration_ms=12.34 timings.connect_ms=2 "
                + "upstream=192.0.2.1:443 reused=false attempts=3 retries=unauthorized,status_503 "
                + "auth.kind=oauth auth.generation=7 auth.refreshed=false "
                + #"headers.user-agent="it's \"me\"" headers.referer=http://a/b "#
                + #"headers.x-number="12" headers.authorization=<redacted>"# + "\n"
        )
    }

    @Test func `tail shows the same line for logfmt and JSON`() throws {
        let logfmt = try #require(Samples.parsed(String(try text(.logfmt).dropLast())))
        let json = try #require(Samples.parsed(String(try text(.json).dropLast())))
        #expect(logfmt.object == json.object)
        for style in [HumanLine.Style.plain, .coloured] {
            let (first, second) = (OutputBuffer(), OutputBuffer())
            HumanLine(logfmt).encode(to: first, style: style)
            HumanLine(json).encode(to: second, style: style)
            #expect(first.text == second.text)
        }
        #expect(try WhereExpression("auth.generation>6").matches(logfmt))
    }

    @Test(arguments: ["", "true", "null", "1e3", "a=b", "a\tb", "\u{7f}", "a\u{85}b", "\u{202e}a"])
    func `text stays text in logfmt`(value: String) throws {
        var record = Samples.minimal()
        record.detail = value
        let line = try #require(Samples.parsed(String(try text(.logfmt, record).dropLast())))
        #expect(line["detail"] == .text(value))
        #expect(try text(.logfmt, record).contains(#" detail=""#))
    }

    @Test func `tail converts a logfmt file to JSON`() throws {
        let logfmt = try #require(Samples.parsed(String(try text(.logfmt).dropLast())))
        let json = try text(.json)
        var printer = LogPrinter(.json)
        #expect(String(decoding: printer.render([logfmt]), as: UTF8.self) == json)
    }

    @Test(arguments: ["time=", "time=1 x=\"", "x=1", "time=1 x", "time=\"\\u12\""])
    func `a line that was cut off is not logfmt`(text: String) {
        // `time=` alone is a line with an empty text.
        #expect((Samples.parsed(text) == nil) == (text != "time="))
    }

    @Test func `ECS uses the names of the schema`() throws {
        let line = try #require(Samples.parsed(String(try text(.ecs).dropLast())))
        guard case .object(let members) = line.object else { return }
        #expect(
            members.prefix(4).map(\.name) == ["@timestamp", "log.level", "message", "ecs.version"]
        )
        let expected: [(String, LogValue)] = [
            ("message", .text("GET /v1/42 200")), ("event.outcome", .text("success")),
            ("event.duration", .number(12_340_000)),
            ("event.category", .list([.text("web"), .text("network")])),
            ("client.address", .text("127.0.0.1:5000")),
            ("destination.address", .text("192.0.2.1:443")), ("http.request.id", .text("r1")),
            ("http.request.method", .text("GET")), ("http.response.status_code", .number(200)),
            ("http.response.body.bytes", .number(3456)), ("http.version", .text("1.1")),
            ("url.domain", .text("api.example.com")), ("url.port", .number(8443)),
            ("url.path", .text("/v1/42")), ("client.ip", .text("127.0.0.1")),
            ("client.port", .number(5000)), ("destination.ip", .text("192.0.2.1")),
            ("netproxy.auth.generation", .number(7)), ("netproxy.channel", .text("orders")),
            ("netproxy.retries", .list([.text("unauthorized"), .text("status_503")])),
            ("netproxy.headers.authorization", .text("<redacted>")),
        ]
        for (name, value) in expected { #expect(line[name] == value, "\(name)") }
    }

    @Test func `an aborted exchange is a failure in ECS with any status`() throws {
        var record = Self.record
        record.abortedBy = .client
        let line = try #require(Samples.parsed(String(try text(.ecs, record).dropLast())))
        #expect(line["event.outcome"] == .text("failure"))
    }

    @Test func `CLF is the combined format`() throws {
        #expect(
            try text(.clf)
                == #"127.0.0.1 - - [04/Mar/2026:05:06:07 +0000] "GET /v1/42?page HTTP/1.1" 200 3456 "#
                + #""http://a/b" "it's \"me\"""# + "\n"
        )
        var refused = Samples.minimal(path: "/a\"\\\u{1f}ü")
        refused.client = "unix"
        refused.identity = ClientIdentity(userID: 1000)
        #expect(
            try text(.clf, refused)
                == #"unix - 1000 [04/Mar/2026:05:06:07 +0000] "GET /a\"\\\x1f\xc3\xbc HTTP/1.1" - 0 "-" "-""#
                + "\n"
        )
    }

    @Test func `CLF has an IPv6 address without brackets or port`() throws {
        var record = Samples.minimal()
        record.client = "[2001:db8::1]:5000"
        #expect(try text(.clf, record).hasPrefix("2001:db8::1 - - ["))
    }

    @Test func `CLF has a dash if no request could be parsed`() throws {
        var record = Samples.minimal(path: "")
        (record.method, record.status) = ("", 400)
        #expect(try text(.clf, record).contains(#"+0000] "-" 400 0 "-" "-""#))
    }

    @Test func `CLF has no line for other events`() throws {
        let event = EventRecord(time: Samples.time, event: .token, message: "renewed")
        let line = try #require(Samples.parsed(String(Samples.line(event).dropLast())))
        let output = OutputBuffer()
        LogFormat.clf.append(line, to: output)
        #expect(output.isEmpty)
    }

    @Test(arguments: LogFormat.allCases)
    func `a file has the configured format, and the feed has JSON`(format: LogFormat) async throws {
        let directory = try TemporaryDirectory()
        let file = RotatingFile(path: "\(directory.path)/a.log", limits: RotatingFile.Limits())
        let sink = LogSink(labels: Self.labels, to: file, format: format)
        let feed = LogFeed()
        let log = ChannelLog(labels: Self.labels, sink: sink, feed: feed, format: format)
        let reader = try #require(feed.subscribe())
        let (buffer, recent) = (LogBuffer(log), LineRing(lines: 4, bytes: 8192))
        for _ in 0..<2 { buffer.write(Self.record, now: .now, keepingIn: recent) }
        buffer.flush(now: .now)
        #expect(try directory.text(of: "a.log") == text(format) + text(format))
        let json = Samples.line(Self.record, Self.labels)
        #expect(String(decoding: await reader.next() ?? [], as: UTF8.self) == json + json)
        #expect(recent.withLine(1) { $0.string(in: 0..<$0.count) } == json)
        #expect(sink.counters.written == 2)
    }
}
