import NetproxyBytes
import NetproxyRequestLog
import NetworkCore
import Testing

/// Tests of the readable lines of `netproxy tail`.
@Suite struct HumanLineTests {
    @Test func `an exchange is one readable line`() {
        let line = HumanLine(Samples.retried(), channel: "orders")
        #expect(
            Samples.text(of: line)
                == "2026-03-04T05:06:07.000Z 200 GET     orders   12.3 ms /v1/42  refreshed retried: unauthorized\n"
        )
    }

    @Test func `a denied retry is not shown as a retry`() {
        var record = Samples.retried()
        record.context.retries = [.unauthorized, .budgetExhausted]
        let line = Samples.text(of: HumanLine(record, channel: "orders"))
        #expect(line.hasSuffix("refreshed retried: unauthorized retry_budget_exhausted\n"))
    }

    @Test func `a logged line is shown like the exchange itself`() throws {
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

    @Test func `a terminal shows the date on a separate line when it changes`() throws {
        let lines = try ["04T05", "04T06", "05T00"].map { hour in
            let text = Samples.line(Samples.retried())
                .replacing("2026-03-04T05", with: "2026-03-\(hour)")
            return try #require(Samples.parsed(text))
        }
        var printer = LogPrinter(.human(.plain, HumanLine.Layout(width: 120)))
        let text = lines.map { String(decoding: printer.render([$0]), as: UTF8.self) }.joined()
        #expect(
            text.split(separator: "\n").map { $0.prefix(14) } == [
                "2026-03-04 UTC", "05:06:07.000 2", "06:06:07.000 2", "2026-03-05 UTC",
                "00:06:07.000 2",
            ]
        )
    }

    /// Returns an exchange that is too long for a narrow terminal.
    private static func long(_ status: HTTPStatus) -> ExchangeRecord {
        var record = Samples.exchange(
            status: status,
            path: "/v1/" + String(repeating: "x", count: 200)
        )
        record.asked = "/orders/begin/" + String(repeating: "y", count: 200) + "/end?q=1"
        record.method = "BASELINE-CONTROL"
        record.context.requestID = "gkb6qta703t25mt"
        record.context.retries = [.status(503), .status(503), .unauthorized]
        record.duration = .seconds(1234)
        (record.error, record.detail) = (.connectionRefused, "127.0.0.1:9 refuses connections")
        return record
    }

    @Test(arguments: [60, 80, 120, 160], [200, 404, 502] as [HTTPStatus])
    func `an exchange with its ID fits one line of any terminal`(width: Int, status: HTTPStatus) {
        let record = Self.long(status)
        let layout = HumanLine.Layout(width: width, channels: ["a-channel-with-a-long-name"])
        let output = OutputBuffer()
        HumanLine(record, channel: "a-channel-with-a-long-name").encode(
            to: output,
            style: .plain,
            in: layout
        )
        let line = output.text.dropLast()
        #expect(line.count <= width, "\(line)")
        #expect(line.hasSuffix("  gkb6qta703t25mt"))
        #expect(line.contains("…"))
    }

    @Test func `columns are aligned, and a long path is cut in its middle`() {
        let layout = HumanLine.Layout(width: 80, channels: ["orders", "public"])
        let plain = Samples.exchange(status: 200, path: "/short")
        var long = Samples.exchange(status: 200)
        long.asked = "/orders/begin/" + String(repeating: "y", count: 200) + "/end"
        let lines = [(plain, "public"), (long, "orders")].map { record, channel in
            let output = OutputBuffer()
            HumanLine(record, channel: channel).encode(to: output, style: .plain, in: layout)
            return output.text
        }
        #expect(lines[0] == "05:06:07 200 GET     public    0.0 ms /short\n")
        #expect(lines[1].hasPrefix("05:06:07 200 GET     orders    0.0 ms /orders/begin/yyy"))
        #expect(lines[1].hasSuffix("yyy/end\n"))
        #expect(lines[1].count == 81)
    }

    @Test func `a pipe gets the complete text, with counts for repeated retries`() throws {
        let record = Self.long(404)
        let text = Samples.text(of: HumanLine(record, channel: "orders"))
        #expect(text.contains("/orders/begin/\(String(repeating: "y", count: 200))/end"))
        #expect(text.contains("retried: status_503 ×2, unauthorized"))
        #expect(text.hasSuffix("refuses connections  gkb6qta703t25mt\n"))
        let parsed = try #require(
            Samples.parsed(Samples.line(record, LogLabels(channel: "orders")))
        )
        #expect(parsed["target"]?.text?.hasSuffix("/end") == true)
        #expect(Samples.text(of: HumanLine(parsed)) == text)
    }

    @Test(
        arguments: [(200, false), (204, false), (301, true), (404, true), (101, true)]
            as [(HTTPStatus, Bool)]
    )
    func `a line that is not 2xx ends with the request ID`(status: HTTPStatus, isShown: Bool) {
        let record = Samples.exchange(status: status)
        let text = Samples.text(of: HumanLine(record, channel: nil))
        #expect(text.hasSuffix("  r1\n") == isShown)
    }

    @Test(arguments: [
        ([:], HumanLine.Style.coloured), (["TERM": "xterm", "NO_COLOR": ""], .coloured),
        (["NO_COLOR": "1"], .plain), (["TERM": "dumb"], .plain),
    ])
    func `colors can be switched off`(
        environment: [String: String],
        style: HumanLine.Style
    ) {
        #expect(HumanLine.Style.onTerminal(environment) == style)
    }

    @Test func `colors show the status on a terminal`() {
        let line = HumanLine(Samples.exchange(status: 503), channel: nil)
        #expect(Samples.text(of: line, .coloured).contains("\u{1b}[31m503\u{1b}[0m GET     "))
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
                == "2026-03-04T05:06:07.000Z *** token   orders           refreshed  generation=3\n"
        )
    }

    @Test(arguments: [
        (99, "99.0 ms"), (100, "100 ms"), (999, "999 ms"), (1000, "1.0 s"), (1520, "1.52 s"),
        (12_340, "12.3 s"),
    ])
    func `a duration has about three digits`(milliseconds: Int, text: String) {
        var record = Samples.exchange(status: 200)
        record.duration = .milliseconds(milliseconds)
        #expect(Samples.text(of: HumanLine(record, channel: nil)).contains(" \(text) /v1/42\n"))
    }

    @Test(arguments: [(LogLevel.info, 90), (.warning, 33), (.error, 31)])
    func `a line without a status has the color of its level`(level: LogLevel, colour: Int) throws {
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
                Samples.text(of: human)
                    .hasSuffix("http_request_error: the Host field is missing  r1\n")
            )
        }
    }
}
