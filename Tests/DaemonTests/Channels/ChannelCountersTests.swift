import NetproxyRequestLog
import NetworkCore
import Testing

@testable import NetproxyPath
@testable import NetproxyService

/// The counters that a finished exchange increments in its channel.
@Suite struct ChannelCountersTests {
    private func counters(
        _ change: (inout ExchangeRecord) -> Void
    ) -> ChannelCounters {
        var record = ExchangeRecord(
            time: .now,
            requestID: "id",
            client: "127.0.0.1:1",
            method: "GET",
            target: "/"
        )
        change(&record)
        var counters = ChannelCounters()
        counters.count(&record)
        return counters
    }

    @Test func `a retry that the budget refused is not counted`() {
        let counted = counters { $0.context.retries = [.status(503), .budgetExhausted] }
        #expect(counted.retries == 1)
        #expect(counters { $0.context.retries = [.budgetExhausted] }.retries == 0)
    }

    @Test func `an exchange without a response counts as none`() {
        #expect(counters { _ in }.statuses == ["none": 1])
        let counted = counters { $0.status = 204 } + counters { $0.status = 503 }
        #expect(counted.statuses == ["2xx": 1, "5xx": 1])
    }

    @Test func `the figures of several workers add up by channel`() {
        var sum = WorkerFigures()
        sum.add(WorkerFigures())
        #expect(sum.connections == 0)
        let pool = PoolCounts(open: 2, idle: 1, queued: 0)
        let both = pool + PoolCounts(open: 1, idle: 0, queued: 3)
        #expect((both.open, both.idle, both.queued) == (3, 1, 3))
    }
}
