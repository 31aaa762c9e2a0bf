import NetproxyBytes
import NetproxyRequestLog
import NetworkCore
import Testing

@Suite struct LineEncoderTests {
    @Test func `a time is truncated to the microsecond`() {
        #expect(WallTime(nanosecondsSince1970: 1_772_600_767_000_089_999) == Samples.time)
    }

    @Test func `a full record becomes a line with all keys in order`() {
        var record = Samples.minimal()
        record.clientRequestID = "theirs"
        record.traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
        record.identity = ClientIdentity(userID: 1000, processID: 42, key: "k")
        record.scheme = "https"
        record.host = "api.example.com"
        record.target += "?page=2&token=s3cret"
        record.protocolVersion = "HTTP/1.1"
        record.status = 200
        record.bytesIn = 12
        record.bytesOut = 3456
        record.duration = .microseconds(12_340)
        record.responseHeaders = [HTTPField("Server", "x")].compactMap { $0 }
        var context = RequestContext(requestID: "r1")
        context.upstreamStatus = 200
        context.timings.queue = .microseconds(1)
        context.timings.dns = .milliseconds(2)
        context.timings.connect = .microseconds(3500)
        context.timings.tls = .microseconds(4120)
        context.timings.firstByte = .milliseconds(10)
        context.upstreamAddress = "192.0.2.1:443"
        context.isConnectionReused = true
        context.attempts = 4
        context.retries = [.unauthorized, .fault(.connectionTerminated), .status(503)]
        var facts = AuthorizationFacts(kind: "oauth")
        facts.generation = 7
        facts.age = .milliseconds(61_900)
        facts.isRefreshed = true
        facts.wait = .microseconds(310_500)
        facts.overrodeClient = true
        facts.notReplayed = .bodyNotReplayable
        context.authorization = facts
        record.context = context
        let labels = LogLabels(
            channel: "orders",
            subsystem: "com.example.orders",
            category: "network",
            headers: ["Server"]
        )
        let expected = [
            #"{"time":"2026-03-04T05:06:07.000089Z","level":"warning","#,
            #""subsystem":"com.example.orders","category":"network","channel":"orders","#,
            #""event":"exchange","request_id":"r1","client_request_id":"theirs","#,
            #""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","client":"127.0.0.1:5000","#,
            #""client_uid":1000,"client_pid":42,"client_key":"k","method":"GET","scheme":"https","host":"api.example.com","#,
            #""path":"/v1/42","query":"page,token","protocol":"HTTP/1.1","status":200,"#,
            #""upstream_status":200,"bytes_in":12,"bytes_out":3456,"duration_ms":12.34,"#,
            #""timings":{"queue_ms":0.001,"dns_ms":2,"connect_ms":3.5,"tls_ms":4.12,"#,
            #""first_byte_ms":10},"upstream":"192.0.2.1:443","reused":true,"attempts":4,"#,
            #""retries":["unauthorized","connection_terminated","status_503"],"#,
            #""auth":{"kind":"oauth","generation":7,"age_s":61,"refreshed":true,"wait_ms":310.5,"#,
            #""overrode_client":true,"not_replayed":"body_not_replayable"},"response_headers":{"server":"x"}}"#,
        ]
        let line = Samples.line(record, labels)
        #expect(line == expected.joined() + "\n")
        guard case .object(let members) = Samples.parsed(line)?.object else { return }
        for member in members {
            guard case .object(let inner) = member.value else { continue }
            for name in inner.map(\.name) { #expect(LogKey.exists("\(member.name).\(name)")) }
        }
        for name in members.map(\.name) { #expect(LogKey.exists(name), "\(name)") }
    }

    @Test func `a minimal record has only the keys that apply`() {
        #expect(
            Samples.line(Samples.minimal())
                == #"{"time":"2026-03-04T05:06:07.000089Z","level":"info","event":"exchange","#
                + #""request_id":"r1","client":"127.0.0.1:5000","method":"GET","path":"/v1/42","#
                + #""bytes_in":0,"bytes_out":0,"duration_ms":0,"attempts":0}"# + "\n"
        )
    }

    @Test func `a refused request has an error and no upstream`() {
        var record = Samples.minimal()
        record.client = "unix"
        record.status = 403
        record.bytesOut = 210
        record.duration = .microseconds(80)
        record.error = .httpRequestDenied
        #expect(
            Samples.line(record, LogLabels(channel: "orders"))
                == #"{"time":"2026-03-04T05:06:07.000089Z","level":"warning","channel":"orders","#
                + #""event":"exchange","request_id":"r1","client":"unix","method":"GET","#
                + #""path":"/v1/42","status":403,"bytes_in":0,"bytes_out":210,"duration_ms":0.08,"#
                + #""attempts":0,"error":"http_request_denied"}"# + "\n"
        )
    }

    @Test func `an aborted exchange names the side that ended it`() {
        var record = Samples.exchange(status: 200)
        record.error = .httpResponseIncomplete
        record.abortedBy = .upstream
        record.context.upstreamAddress = "192.0.2.1:443"
        #expect(
            Samples.line(record)
                == #"{"time":"2026-03-04T05:06:07.000089Z","level":"error","event":"exchange","#
                + #""request_id":"r1","client":"127.0.0.1:5000","method":"GET","path":"/v1/42","#
                + #""status":200,"bytes_in":0,"bytes_out":0,"duration_ms":0,"#
                + #""upstream":"192.0.2.1:443","reused":false,"attempts":1,"#
                + #""error":"http_response_incomplete","aborted_by":"upstream"}"# + "\n"
        )
    }

    @Test func `the line of an event has the same first keys, and its own facts`() {
        let event = EventRecord(
            time: Samples.time,
            level: .warning,
            event: .token,
            message: "refresh failed",
            facts: [
                ("reason", .text("a \"quote\"")), ("generation", .number(3)),
                ("rotated", .flag(false)), ("took_ms", .duration(.microseconds(1500))),
            ]
        )
        #expect(
            Samples.line(event, LogLabels(channel: "orders"))
                == #"{"time":"2026-03-04T05:06:07.000089Z","level":"warning","channel":"orders","#
                + #""event":"token","message":"refresh failed","reason":"a \"quote\"","#
                + #""generation":3,"rotated":false,"took_ms":1.5}"# + "\n"
        )
    }

    @Test(arguments: [
        (WallTime(seconds: 0), "1970-01-01T00:00:00.000000Z"),
        (WallTime(seconds: 951_782_399, microseconds: 999_999), "2000-02-28T23:59:59.999999Z"),
        (WallTime(seconds: 951_782_400), "2000-02-29T00:00:00.000000Z"),
        (WallTime(seconds: 1_709_251_199), "2024-02-29T23:59:59.000000Z"),
        (WallTime(seconds: 4_102_444_800, microseconds: 10), "2100-01-01T00:00:00.000010Z"),
    ])
    func `times are written in UTC`(time: WallTime, text: String) {
        var record = Samples.minimal()
        record.time = time
        #expect(Samples.line(record).hasPrefix(#"{"time":"\#(text)""#))
    }

    @Test func `the next second gets a new prefix`() {
        let encoder = LineEncoder(labels: LogLabels())
        let output = OutputBuffer()
        for second in [59, 60] as [Int64] {
            encoder.encode(
                EventRecord(time: WallTime(seconds: second), event: .pool, message: ""),
                to: output
            )
        }
        #expect(output.text.contains("00:00:59") && output.text.contains("00:01:00"))
    }

    @Test(arguments: [
        (Duration.zero, "0"), (.microseconds(1), "0.001"), (.nanoseconds(999), "0"),
        (.milliseconds(250), "250"), (.microseconds(1010), "1.01"), (.seconds(20), "20000"),
        (.seconds(90_000), "90000000"), (.milliseconds(-5), "0"),
    ])
    func `milliseconds have at most three decimals`(duration: Duration, text: String) {
        let output = OutputBuffer()
        output.append(milliseconds: duration)
        #expect(output.text == text)
    }
}
