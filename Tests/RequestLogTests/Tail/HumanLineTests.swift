import Bytes
import NetworkCore
import RequestLog
import Testing

/// The readable lines of `netproxy tail`.
@Suite struct HumanLineTests {
    @Test func `an exchange is one readable line`() {
        let line = HumanLine(Samples.retried(), channel: "orders")
        #expect(
            Samples.text(of: line)
                == "05:06:07.000Z 200 GET    /v1/42  orders  12.3 ms  refreshed retried: unauthorized\n"
        )
    }

    @Test func `a retry that was not made is not shown as one`() {
        var record = Samples.retried()
        record.context.retries = [.unauthorized, .budgetExhausted]
        let line = Samples.text(of: HumanLine(record, channel: "orders"))
        #expect(line.hasSuffix("refreshed retried: unauthorized retry_budget_exhausted\n"))
    }

    @Test func `a logged line looks like the exchange itself`() throws {
        var failed = Samples.retried()
        failed.status = nil
        failed.error = .cancelled
        failed.abortedBy = .client
        for record in [Samples.retried(), failed] {
            let text = Samples.line(record, LogLabels(channel: "orders"))
            let parsed = try #require(Samples.parsed(text))
            let direct = HumanLine(record, channel: "orders")
            #expect(Samples.text(of: HumanLine(parsed)) == Samples.text(of: direct))
        }
    }

    @Test func `the date is shown when it changes`() throws {
        let lines = try ["04T05", "04T06", "05T00"].map { hour in
            let text = Samples.line(Samples.retried())
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
    func `colours can be switched off`(
        environment: [String: String],
        style: HumanLine.Style
    ) {
        #expect(HumanLine.Style.onTerminal(environment) == style)
    }

    @Test func `colours show the status on a terminal`() {
        let line = HumanLine(Samples.exchange(status: 503), channel: nil)
        #expect(Samples.text(of: line, .coloured).contains("\u{1b}[31m503\u{1b}[0m GET    /v1/42"))
    }

    @Test func `a path contains no terminal commands`() {
        let record = Samples.exchange(status: 200, path: "/\u{1b}[2J\u{9b}2J\nx")
        let text = Samples.text(of: HumanLine(record, channel: nil))
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
            Samples.text(of: HumanLine(parsed))
                == "05:06:07.000Z *** token  refreshed  orders  generation=3\n"
        )
    }

    @Test(arguments: [
        (99, "99.0 ms"), (100, "100 ms"), (999, "999 ms"), (1000, "1.0 s"), (1520, "1.52 s"),
        (12_340, "12.3 s"),
    ])
    func `a duration has about three digits`(milliseconds: Int, text: String) {
        var record = Samples.exchange(status: 200)
        record.duration = .milliseconds(milliseconds)
        #expect(Samples.text(of: HumanLine(record, channel: nil)).hasSuffix("  \(text)\n"))
    }

    @Test(arguments: [(LogLevel.info, 90), (.warning, 33), (.error, 31)])
    func `a line without a status has the colour of its level`(level: LogLevel, colour: Int) throws
    {
        let event = EventRecord(time: Samples.time, level: level, event: .pool, message: "full")
        let line = try #require(Samples.parsed(Samples.line(event)))
        #expect(
            Samples.text(of: HumanLine(line), .coloured).contains("\u{1b}[\(colour)m***\u{1b}[0m")
        )
    }

    @Test func `an error is shown with its reason`() throws {
        var record = Samples.exchange(status: 400)
        (record.method, record.target) = ("", "")
        (record.error, record.detail) = (.httpRequestError, "the Host field is missing")
        let text = Samples.line(record)
        #expect(text.contains(#""detail":"the Host field is missing""#))
        let line = try #require(Samples.parsed(text))
        #expect(line["method"] == nil && line["path"] == nil)
        for human in [HumanLine(line), HumanLine(record, channel: nil)] {
            #expect(
                Samples.text(of: human).hasSuffix("http_request_error: the Host field is missing\n")
            )
        }
    }
}
