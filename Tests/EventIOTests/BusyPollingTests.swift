import TestSupport
import Testing

@testable import EventIO

@Suite struct BusyPollingTests {
    /// What measures of it come to, in nanoseconds.
    private struct Meter {
        var polling = BusyPolling(isAllowed: true)
        var isOn: Bool { polling.isOn }
        private var time: UInt64 = 1_000_000_000_000
        private var cost: UInt64 = 1_000_000_000

        /// One measure: so much CPU time for each piece of work, one wait after the other.
        mutating func take(_ price: UInt64, pace: UInt64 = 80_000, work: Int = 1, times: Int = 1) {
            for _ in 0..<times { take(in: price * UInt64(work), pace: pace, work: work) }
        }

        /// One measure: so much CPU time and work for each wait.
        mutating func take(in wait: UInt64, pace: UInt64 = 80_000, work: Int) {
            let due = (1...BusyPolling.window).filter { _ in polling.count(work: work) }
            #expect(due == [BusyPolling.window])
            time += pace * UInt64(BusyPolling.window)
            cost += wait * UInt64(BusyPolling.window)
            polling.measure(at: time, cost: cost)
        }
    }

    /// After one measure of sleeps that cost 10 us for each piece of work.
    private static func meter(work: Int = 1) -> Meter {
        var meter = Meter()
        meter.take(10_000, pace: BusyPolling.longestPace + 1)
        #expect(!meter.isOn)
        meter.take(10_000, work: work)
        #expect(meter.isOn)
        return meter
    }

    /// One that polls.
    private static let polling = meter().polling

    @Test func `a measure of sleeps that come quickly begins a trial`() {
        var meter = Meter()
        meter.take(10_000, pace: BusyPolling.longestPace + 1, times: 100)
        #expect(!meter.isOn)
        meter.take(10_000, pace: BusyPolling.longestPace)
        #expect(meter.isOn)
    }

    @Test func `two measures in a row of polls that cost more by a fifth end it`() {
        var meter = BusyPollingTests.meter()
        for _ in 1...10 {
            meter.take(12_000)
            meter.take(12_001)
            #expect(meter.isOn)
        }
        meter.take(12_001)
        #expect(!meter.isOn)
    }

    @Test func `where sleeps let work gather polls must be cheaper by a tenth`() {
        var meter = BusyPollingTests.meter(work: 2)
        meter.take(9000, work: 2, times: 20)
        meter.take(9001, work: 2)
        #expect(meter.isOn)
        meter.take(9001, work: 2)
        #expect(!meter.isOn)
    }

    @Test func `what polls find together does not matter, what sleeps find does`() {
        var meter = BusyPollingTests.meter(work: 2)
        meter.take(9001, work: 1, times: 2)
        #expect(!meter.isOn)
        meter = BusyPollingTests.meter(work: 1)
        meter.take(12_000, work: 2, times: 20)
        #expect(meter.isOn)
    }

    @Test func `two measures that come slowly end it, whatever they cost`() {
        var meter = BusyPollingTests.meter()
        meter.take(1000, pace: BusyPolling.longestPace, times: 20)
        meter.take(1000, pace: BusyPolling.longestPace + 1)
        #expect(meter.isOn)
        meter.take(1000, pace: BusyPolling.longestPace + 1)
        #expect(!meter.isOn)
    }

    @Test func `polls in vain end it`() {
        var meter = BusyPollingTests.meter()
        meter.take(in: 50_000, work: 0)
        #expect(meter.isOn)
        meter.take(in: 50_000, work: 0)
        #expect(!meter.isOn)
    }

    @Test func `a failure doubles the pause, up to 64, and a success begins anew`() {
        var meter = Meter()
        meter.take(10_000, pace: BusyPolling.longestPace + 1)
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            meter.take(10_000, times: pause - 1)
            #expect(!meter.isOn)
            meter.take(10_000)
            #expect(meter.isOn)
            meter.take(20_000, times: 2)
            #expect(!meter.isOn)
        }
        meter.take(10_000, times: 64)
        meter.take(5000, times: BusyPolling.success - 2)
        meter.take(20_000, times: 2)
        #expect(!meter.isOn)
        meter.take(10_000)
        #expect(meter.isOn)
    }

    @Test func `a trial that fails just before it is a success doubles the pause`() {
        var meter = BusyPollingTests.meter()
        meter.take(5000, times: BusyPolling.success - 3)
        meter.take(20_000, times: 2)
        meter.take(10_000)
        #expect(!meter.isOn)
        meter.take(10_000)
        #expect(meter.isOn)
    }

    @Test func `sleeps are measured again now and then, and what they cost then counts`() {
        var meter = BusyPollingTests.meter()
        meter.take(11_000, times: BusyPolling.term - 1)
        #expect(meter.isOn)
        meter.take(11_000)
        #expect(!meter.isOn)
        meter.take(5000)
        #expect(meter.isOn)
        meter.take(11_000, times: 2)
        #expect(!meter.isOn)
    }

    @Test func `clocks that jump do it no harm`() {
        var meter = BusyPollingTests.meter()
        for (time, cost) in [(UInt64.max, UInt64.max), (0, 0), (0, .max), (.max, 0), (1, 1)] {
            for _ in 1...4 {
                while !meter.polling.count(work: .max) {}
                meter.polling.measure(at: time, cost: cost)
            }
        }
        // It finds its way back.
        var isOn = false
        for _ in 0..<200 where !isOn {
            meter.take(10_000)
            isOn = meter.isOn
        }
        #expect(isOn)
    }

    @Test func `a loop that polls hears calls from other threads`() async throws {
        let loop = try EventLoop()
        loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling }
        let count = Counter()
        let all = Gate()
        for number in 1...2000 {
            loop.submit { if count.next() == 2000 { all.open() } }
            if number.isMultiple(of: 100) { await Task.yield() }
        }
        try await all.wait()
        #expect(await Task(executorPreference: loop) { loop.timePolled }.value > 0)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `what ends in the middle of a poll does it no harm`() async throws {
        let loop = try EventLoop()
        loop.start()
        let done = Gate()
        loop.submit {
            loop.polling = BusyPollingTests.polling
            // The poll that comes next finds this, and another one behind it what follows.
            loop.submit {
                loop.advance(by: .seconds(3600))
                loop.submit {
                    loop.mayPoll = false
                    done.open()
                }
            }
        }
        try await done.wait()
        let (isOn, polled) = await Task(executorPreference: loop) {
            (loop.polling.isOn, loop.timePolled)
        }.value
        #expect(!isOn)
        #expect(polled >= 3_600_000_000_000)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `a loop that polls in vain sleeps, hears calls and stops`() async throws {
        let loop = try EventLoop()
        loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling }
        let isVain = await eventually {
            await Task(executorPreference: loop) { loop.timePolled >= BusyPolling.longest }.value
        }
        #expect(isVain)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `a loop takes its measures, asleep and polling`() async throws {
        let loop = try EventLoop()
        loop.start()
        for polling in [BusyPolling(isAllowed: true), BusyPollingTests.polling] {
            _ = await loop.call { $0.polling = polling }
            let isMeasured = await eventually {
                await Task(executorPreference: loop) {
                    loop.polling.beginning.cost != polling.beginning.cost
                }.value
            }
            #expect(isMeasured)
        }
        loop.stop()
        await loop.waitUntilStopped()
    }
}
