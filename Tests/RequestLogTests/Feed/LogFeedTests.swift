import NetproxyBytes
import NetproxyHTTPMessage
import NetproxyRequestLog
import Testing

@Suite struct LogFeedTests {
    private let feed = LogFeed()

    private func buffer(_ channel: String?) -> LogBuffer {
        let labels = LogLabels(channel: channel)
        let sink = LogSink(labels: labels, to: NowhereDestination())
        return LogBuffer(ChannelLog(labels: labels, sink: sink, feed: feed))
    }

    private func text(_ bytes: [UInt8]?) -> String {
        String(decoding: bytes ?? [], as: UTF8.self)
    }

    @Test func `a reader gets the lines written after it subscribed`() async throws {
        let orders = buffer("orders")
        orders.write(Samples.minimal(path: "/before"), now: .now)
        let reader = try #require(feed.subscribe())
        orders.write(Samples.minimal(path: "/after"), now: .now)
        let lines = text(await reader.next())
        #expect(lines.contains("/after"))
        #expect(!lines.contains("/before"))
        #expect(lines.hasSuffix("}\n"))
    }

    @Test func `a reader also gets other events`() async throws {
        let own = buffer(nil)
        let reader = try #require(feed.subscribe())
        own.write(EventRecord(time: Samples.time, event: .reload, message: "reloaded"), now: .now)
        #expect(text(await reader.next()).contains("reloaded"))
        own.flush(now: .now)
        #expect(own.log.counters.written == 1)
    }

    @Test func `a reader of a channel gets only the lines of that channel`() async throws {
        let reader = try #require(feed.subscribe(channels: ["netproxy"]))
        buffer("orders").write(Samples.minimal(path: "/orders"), now: .now)
        buffer(nil).write(Samples.minimal(path: "/unclaimed"), now: .now)
        let lines = text(await reader.next())
        #expect(lines.contains("/unclaimed"))
        #expect(!lines.contains("/orders"))
    }

    @Test func `a reader gets the lines that satisfy its conditions`() async throws {
        let reader = try #require(feed.subscribe(filter: [try WhereExpression("status>=500")]))
        let orders = buffer("orders")
        orders.write(Samples.exchange(status: 200, path: "/fine"), now: .now)
        orders.write(Samples.exchange(status: 502, path: "/broken"), now: .now)
        orders.write(Samples.exchange(status: 503, path: "/busy"), now: .now)
        let lines = text(await reader.next())
        #expect(lines.split(separator: "\n").count == 2 && lines.hasSuffix("}\n"))
        #expect(lines.contains("/broken"))
        #expect(!lines.contains("/fine"))
    }

    @Test func `a slow reader gets the number of lines it lost`() async throws {
        let reader = try #require(feed.subscribe())
        let orders = buffer("orders")
        let line = Samples.line(Samples.minimal(), LogLabels(channel: "orders"))
        let fitting = LogSubscription.bufferSize / line.utf8.count
        for _ in 0..<(fitting + 7) { orders.write(Samples.minimal(), now: .now) }
        let lines = text(await reader.next())
        #expect(lines.contains(#""message":"lines were dropped","dropped":7"#))
        #expect(lines.utf8.count <= LogSubscription.bufferSize + 512)
        orders.write(Samples.minimal(path: "/later"), now: .now)
        #expect(text(await reader.next()).contains("/later"))
    }

    @Test func `the end of the feed ends its subscriptions`() async throws {
        let reader = try #require(feed.subscribe())
        buffer("orders").write(Samples.minimal(path: "/last"), now: .now)
        feed.finish()
        #expect(text(await reader.next()).contains("/last"))
        #expect(await reader.next() == nil)
        #expect(!feed.isWatched)
    }

    @Test func `a canceled wait returns`() async throws {
        let reader = try #require(feed.subscribe())
        let waiting = Task { await reader.next() }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test func `the number of readers is limited`() {
        for _ in 0..<LogFeed.subscriptionLimit { #expect(feed.subscribe() != nil) }
        #expect(feed.subscribe() == nil)
    }
}

/// Accepts every line and discards it.
private final class NowhereDestination: LogDestination {
    let generation = 0
    func prepare(adding count: Int, now: ContinuousClock.Instant) {}
    func write(_ bytes: Span<UInt8>) -> Int { bytes.count }
    func reopen() {}
}
