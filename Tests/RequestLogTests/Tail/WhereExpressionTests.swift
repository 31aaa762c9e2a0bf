import NetproxyRequestLog
import NetworkCore
import Testing

@Suite struct WhereExpressionTests {
    private static let text =
        #"{"time":"2026-03-04T05:06:07.000089Z","level":"warning","channel":"orders","#
        + #""method":"POST","path":"/v1/orders/42","status":404,"duration_ms":250.5,"reused":true,"#
        + #""timings":{"first_byte_ms":12},"retries":["unauthorized","status_503"],"#
        + #""auth":{"kind":"oauth","generation":2}}"#

    @Test(arguments: [
        ("status>=400", true), ("status>404", false), ("status<=404", true), ("status<404", false),
        ("status=404", true), ("status=404.0", true), ("status!=404", false), ("status~40", true),
        ("duration_ms>250", true), ("duration_ms>1000", false),
        ("method=POST", true), ("method=post", false), ("method!=GET", true),
        ("path~/orders", true), ("path~/Orders", false), ("path=/v1/orders", false),
        ("channel!=x", true), ("channel=orders", true),
        ("auth.generation>1", true), ("auth.generation>2", false), ("auth.kind=oauth", true),
        ("timings.first_byte_ms>10", true), ("timings.tls_ms>0", false),
        ("reused=true", true), ("reused=false", false),
        ("retries=unauthorized", true), ("retries=status_503", true), ("retries~503", true),
        ("retries!=unauthorized", false), ("retries!=status_500", true),
        ("status==404", true), ("status==200", false), ("channel==orders", true),
        ("time>2026-03-04T05", true), ("time>2026-03-05", false),
        ("error=x", false), ("error!=x", true),
        ("retries", true), ("error", false), ("auth.generation", true), ("reused", true),
        ("time>=2026-03-04T05:06:07", true), ("time>=2026-03-04T05:06:07Z", true),
        ("time<=2026-03-04T05:06:07.000089Z", true), ("time>2026-03-04T05:06:07.000089Z", false),
        ("time<2026", false),
        ("headers.x-client=a", false), ("path~=", false), ("status~4x", false),
    ])
    func `a condition is true or false`(expression: String, holds: Bool) throws {
        let line = try #require(Samples.parsed(Self.text))
        #expect(try WhereExpression(expression).matches(line) == holds)
    }

    @Test func `lines are selected by age`() throws {
        let line = try #require(Samples.parsed(Self.text))
        let now = WallTime(seconds: 1_772_600_767 + 90, microseconds: 5)
        #expect(try WhereExpression.youngerThan(.seconds(90), at: now).matches(line))
        #expect(try !WhereExpression.youngerThan(.seconds(89), at: now).matches(line))
    }

    @Test(arguments: [
        ("", "expected a key such as status or auth.generation, found ''"),
        (">=400", "expected a key such as status or auth.generation, found '>=400'"),
        (
            "time<21:06",
            "expected a UTC time or its beginning, such as 2026-11-23T09:30, found '21:06'"
        ),
        ("status 400", "expected one of = != > >= < <= ~ after 'status', found ' 400'"),
        ("statsu>=400", "unknown key 'statsu', did you mean 'status'?"),
        (
            "timings.connect>1",
            "unknown key 'timings.connect', did you mean 'timings.connect_ms'?"
        ),
        ("status>=", "expected a value after 'status>=', found nothing"),
        ("status>==1", "expected a value, found '=1'"),
        ("duration_ms>250ms", "expected a number such as 250 after 'duration_ms>', found '250ms'"),
        ("status=4xx", "expected a number such as 250 after 'status=', found '4xx'"),
        (
            "timings.dns_ms<=1s",
            "expected a number such as 250 after 'timings.dns_ms<=', found '1s'"
        ),
    ])
    func `an invalid condition leads to an error with what was expected`(
        expression: String,
        message: String
    ) {
        let error = #expect(throws: WhereExpression.Invalid.self) {
            try WhereExpression(expression)
        }
        #expect(error?.description == message)
    }

    @Test(
        arguments: ["status", "duration_ms", "error", "timings.dns_ms", "time"],
        ["=", "==", "!=", ">", ">=", "<", "<=", "~"]
    )
    func `an empty value is refused with every operator`(key: String, comparison: String) {
        let error = #expect(throws: WhereExpression.Invalid.self) {
            try WhereExpression(key + comparison)
        }
        #expect(error?.description.hasPrefix("expected a value after") == true)
    }

    @Test(arguments: [
        "2026-13-45", "2026-00-01", "2026-02-29", "2026-04-31", "2026-04-30T24", "2026-04-30T23:60",
        "2026-04-30T23:59:61",
    ])
    func `a time that no calendar or clock shows is refused`(time: String) {
        #expect(throws: WhereExpression.Invalid.self) { try WhereExpression.since(time) }
    }

    @Test(arguments: ["2024-02-29", "2026-12-31T23:59:60", "2026-1", "2026-11-3", "2026"])
    func `a time may be a prefix of a full time`(time: String) throws {
        _ = try WhereExpression.since(time)
    }

    @Test func `the client's path and the upstream's path are different keys`() throws {
        var record = Samples.exchange(status: 200, path: "/v1/42")
        record.asked = "/orders/42?x=1"
        let line = try #require(Samples.parsed(Samples.line(record)))
        #expect(try WhereExpression("target==/orders/42").matches(line))
        #expect(try WhereExpression("path=/v1/42").matches(line))
        record.asked = "/v1/42?x=1"
        let same = try #require(Samples.parsed(Samples.line(record)))
        #expect(same["target"] == nil)
    }
}
