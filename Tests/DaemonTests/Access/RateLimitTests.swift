import NetproxyConfig
import NetworkCore
import Testing

@testable import NetproxyPath

/// The distribution of a channel's requests among clients.
@Suite struct RateLimitTests {
    /// A rate limit with a clock that only the test advances.
    private struct Model {
        var limit: RateLimit
        var now = Duration.seconds(1000)

        init(_ requests: Int, per: Duration, burst: Int) {
            let allowance = RateSettings.Allowance(requests: requests, per: per, burst: burst)
            limit = RateLimit(allowance, at: now)
        }

        /// Returns the wait in seconds; `nil` if the request is admitted.
        mutating func ask(_ name: String, after pause: Duration = .zero) -> Int? {
            now += pause
            return switch limit.admit(.key(name), at: now) {
            case .admitted: nil
            case .refused(let seconds): seconds
            }
        }
    }

    @Test func `a burst is admitted, then requests at the configured rate`() {
        var model = Model(60, per: .seconds(60), burst: 3)
        #expect((1...4).map { _ in model.ask("a") } == [nil, nil, nil, 1])
        #expect(model.ask("a", after: .milliseconds(999)) == 1)
        #expect(model.ask("a", after: .milliseconds(1)) == nil)
        #expect(model.ask("a") == 1)
        #expect((1...4).map { _ in model.ask("a", after: .seconds(1)) } == [nil, nil, nil, nil])
        model.now += .seconds(3600)
        #expect((1...4).map { _ in model.ask("a") } == [nil, nil, nil, 1])
    }

    @Test(arguments: [(1, 2, 2), (1, 3600, 3600), (3, 10, 4), (100, 1, 1)])
    func `the wait is in whole seconds, rounded up and never zero`(
        requests: Int,
        seconds: Int,
        wait: Int
    ) {
        var model = Model(requests, per: .seconds(seconds), burst: 1)
        #expect(model.ask("a") == nil)
        #expect(model.ask("a") == wait)
    }

    @Test func `waiting clients are admitted in the order of their first requests`() {
        var model = Model(1, per: .seconds(10), burst: 1)
        #expect(model.ask("a") == nil)
        #expect(["b", "c", "d"].map { model.ask($0) } == [10, 20, 30])
        // The floods of an earlier and of a new client.
        #expect(model.ask("b", after: .seconds(9)) == 1)
        #expect(model.ask("new", after: .milliseconds(1500)) == 30)
        #expect(model.ask("b") == nil)
        #expect(model.ask("b") == 40)
        #expect(model.ask("d", after: .milliseconds(9500)) == 10)
        #expect(model.ask("c") == nil)
        #expect(model.ask("d", after: .seconds(10)) == nil)
    }

    @Test(arguments: [(60, 60, 5), (10, 1, 10), (600, 60, 20), (1, 5, 1)])
    func `a client that floods gets no more than a client that waits`(
        requests: Int,
        seconds: Int,
        burst: Int
    ) {
        var model = Model(requests, per: .seconds(seconds), burst: burst)
        var admitted = ["flood": 0, "polite": 0]
        // The polite client waits a little longer than necessary; the flooding one does not wait.
        var politeAt = model.now + .milliseconds(300)
        let step = Duration.milliseconds(20)
        // The duration of 100 tokens.
        let steps = 100 * seconds * 50 / requests
        for _ in 0..<steps {
            model.now += step
            for _ in 0..<5 where model.ask("flood") == nil { admitted["flood", default: 0] += 1 }
            while politeAt <= model.now {
                if let wait = model.ask("polite") {
                    politeAt = model.now + .seconds(wait) + .milliseconds(50)
                } else {
                    admitted["polite", default: 0] += 1
                }
            }
        }
        let (flood, polite) = (admitted["flood"] ?? 0, admitted["polite"] ?? 0)
        #expect(flood <= polite * 5 / 4 + burst, "\(flood) and \(polite)")
        #expect(polite <= flood * 5 / 4 + burst, "\(flood) and \(polite)")
        #expect(flood + polite <= 100 + burst + 1)
        #expect(flood + polite >= 85, "\(flood) and \(polite)")
    }

    @Test(arguments: [(60, 60, 1), (10, 1, 1), (10, 1, 10)])
    func `a single client gets every token, whether it waits or not`(
        requests: Int,
        seconds: Int,
        burst: Int
    ) {
        var model = Model(requests, per: .seconds(seconds), burst: burst)
        var admitted = 0
        let interval = Duration.seconds(seconds) / requests
        for _ in 0..<200 where model.ask("a", after: interval / 2) == nil { admitted += 1 }
        #expect((100...100 + burst).contains(admitted), "\(admitted)")
    }

    @Test func `an unused place becomes free after a second`() {
        var model = Model(60, per: .seconds(60), burst: 1)
        #expect(model.ask("a") == nil)
        #expect(model.ask("gone") == 1)
        #expect(model.ask("a") == 2)
        #expect(model.ask("a", after: .seconds(2)) == nil)
        // A second after the reserved time.
        #expect(model.ask("b", after: .milliseconds(500)) == nil)
        #expect(model.ask("gone") == 1)
    }

    @Test func `a client beyond the maximum of waiting clients gets a wait but no place`() {
        var model = Model(1000, per: .seconds(1), burst: 1)
        #expect(model.ask("a") == nil)
        for number in 0..<1024 { #expect(model.ask("\(number)") == number / 1000 + 1) }
        #expect(model.ask("late") == 2)
        #expect(model.ask("later") == 2)
        model.now += .seconds(10)
        #expect(model.ask("late") == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:5000", RateClient.loopback), ("127.9.9.9:5000", .loopback),
        ("[::1]:5000", .loopback), ("[::ffff:127.0.0.1]:5000", .loopback),
        ("10.0.0.7:5000", .address("10.0.0.7")), ("[2001:db8::7]:5000", .address("2001:db8::7")),
    ])
    func `the programs of this machine share one client, and each remote address has its own`(
        address: String,
        client: RateClient
    ) {
        #expect(RateClient(key: nil, userID: nil, address: address) == client)
        #expect(RateClient(key: nil, userID: 7, address: "unix") == .user(7))
        #expect(RateClient(key: "k", userID: 7, address: "unix") == .key("k"))
    }

    @Test func `a key has its own limit, and a refusal by the channel's limit does not use it up`()
    {
        let limiter = RateLimiter(
            RateSettings(
                all: .init(requests: 1, per: .seconds(60), burst: 4),
                eachKey: .init(requests: 1, per: .seconds(60), burst: 2)
            )
        )
        func word(_ client: RateClient) -> String? {
            do throws(NetworkError) {
                try limiter.check(client, at: .seconds(5))
                return nil
            } catch {
                return "\(error.retryAfter ?? 0) \(error.detail)"
            }
        }
        #expect([word(.key("a")), word(.key("a"))] == [nil, nil])
        let own = "the key's rate.each_key is used up (requests: 1, per: 60s, burst: 2)"
        #expect(word(.key("a")) == "60 \(own); try again in 60 s")
        #expect([word(.key("b")), word(.loopback)] == [nil, nil])
        let all = "the channel's rate is used up (requests: 1, per: 60s, burst: 4)"
        #expect(word(.key("b"))?.hasPrefix("60 \(all)") == true)
        #expect(word(.key("c"))?.hasPrefix("120 \(all)") == true)
        #expect(word(.key("b"))?.contains("the channel's rate") == true)
    }
}
