import NetproxyConfig
import Testing

/// Tests of the request rate of a channel.
@Suite struct RateTests {
    private typealias Allowance = RateSettings.Allowance

    private func rate(_ text: String) throws -> RateSettings? {
        try channel("rate: \(text)").rate
    }

    @Test func `a channel without a rate accepts any number of requests`() throws {
        #expect(try channel("").rate == nil)
        #expect(try rate("off") == nil)
        let text = """
            defaults: { rate: { requests: 60 } }
            channels:
              a: { upstream: 'https://a.example' }
              b: { upstream: 'https://b.example', rate: off }
            """
        #expect(try load(text).channels.map { $0.rate?.all?.requests } == [60, nil])
    }

    @Test(arguments: [
        ("requests: 60", 60, 60, 10), ("requests: 5", 5, 60, 5),
        ("requests: 100, per: 1s", 100, 1, 100), ("requests: 1000, per: 7s", 1000, 7, 143),
        ("requests: 60, per: 1h, burst: 90", 60, 3600, 90),
    ])
    func `the default burst allows the requests of one second`(
        text: String,
        requests: Int,
        seconds: Int,
        burst: Int
    ) throws {
        let expected = Allowance(requests: requests, per: .seconds(seconds), burst: burst)
        #expect(try rate("{ \(text) }") == RateSettings(all: expected))
    }

    @Test func `each lent key may have its own rate`() throws {
        let own = Allowance(requests: 30, per: .seconds(1), burst: 2)
        let each = "each_key: { requests: 30, per: 1s, burst: 2 }"
        #expect(try rate("{ \(each) }") == RateSettings(all: nil, eachKey: own))
        let both = try rate("{ requests: 1, per: 1h, \(each) }")
        let all = Allowance(requests: 1, per: .seconds(3600), burst: 1)
        #expect(both == RateSettings(all: all, eachKey: own))
    }

    @Test(arguments: [
        ("{}", "rate.requests: required"), ("{ per: 1m }", "rate.requests: required"),
        ("{ requests: 0 }", "rate.requests: expected a whole number from 1 to 1000000"),
        ("{ requests: 1, per: 500ms }", "rate.per: expected a duration from 1s to 24h"),
        ("{ requests: 1, per: 25h }", "rate.per: expected a duration from 1s to 24h"),
        ("{ requests: 1, burst: 0 }", "rate.burst: expected a whole number from 1"),
        ("{ each_key: {} }", "rate.each_key.requests: required"),
        ("{ each_key: { requests: 1, each_key: off } }", "rate.each_key.each_key: unknown key"),
        ("60/m", "rate: expected a map, such as { requests: 60, per: 1m }"),
    ])
    func `the error of an invalid rate says what was expected`(text: String, expected: String) {
        let found = errors(inChannel: "rate: \(text)")
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }
}
