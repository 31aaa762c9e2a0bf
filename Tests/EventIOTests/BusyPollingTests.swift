import TestSupport
import Testing

@testable import NetproxyEventIO

@Suite struct BusyPollingTests {
    /// A `BusyPolling` with simulated measurements, in nanoseconds.
    fileprivate struct Meter {
        var polling = BusyPolling()
        var isOn: Bool { polling.isOn }
        private var time: UInt64 = 1_000_000_000_000
        private var cost: UInt64 = 1_000_000_000

        /// Takes measurements with `price` as the CPU time for each piece of work.
        mutating func take(_ price: UInt64, pace: UInt64 = 80_000, work: Int = 1, times: Int = 1) {
            for _ in 0..<times {
                take(in: price * UInt64(work), pace: pace, work: Array(repeating: work, count: 129))
            }
        }

        /// Takes one measurement with `wait` as the CPU time for each wait, and one entry of `work` for each
        /// wait.
        mutating func take(in wait: UInt64, pace: UInt64 = 80_000, work: [Int]) {
            let due = work.indices.filter { polling.count(work: work[$0]) }
            #expect(due == [128])
            time += pace * 129
            cost += wait * 129
            polling.measure(at: time, cost: cost)
        }
    }

    /// Returns a meter after one measurement of sleeps that cost 10 µs for each piece of work.
    private static func meter(work: Int = 1) -> Meter {
        var meter = Meter()
        meter.take(10_000, pace: slow)
        meter.take(10_000, work: work)
        return meter
    }

    private static let quick: UInt64 = 200_000
    private static let slow: UInt64 = 200_001

    /// A value that polls.
    private static let polling = meter().polling

    @Test func `the longest poll takes 50 us`() {
        #expect(BusyPolling.longest == 50_000)
        #expect(!BusyPolling().isOn)
        #expect(BusyPollingTests.polling.isOn)
    }

    @Test func `a measurement of short sleeps begins a trial`() {
        var meter = Meter()
        meter.take(10_000, pace: BusyPollingTests.slow, times: 100)
        #expect(!meter.isOn)
        meter.take(10_000, pace: BusyPollingTests.quick)
        #expect(meter.isOn)
    }

    @Test func `two measurements in a row with polls a fifth more expensive end polling`() {
        var meter = BusyPollingTests.meter()
        for _ in 1...10 {
            meter.take(12_000)
            meter.take(12_001)
            #expect(meter.isOn)
        }
        meter.take(12_001)
        #expect(!meter.isOn)
    }

    @Test(arguments: [2, 3, 50])
    func `polls must be a tenth cheaper if sleeps gather several pieces of work`(work: Int) {
        var meter = BusyPollingTests.meter(work: work)
        meter.take(9000, work: work, times: 20)
        meter.take(9001, work: work)
        #expect(meter.isOn)
        meter.take(9001, work: work)
        #expect(!meter.isOn)
    }

    @Test func `the threshold is interpolated between one and two pieces of work`() {
        // 193 pieces in 129 waits are 1.5 pieces for each wait: 10.6 µs.
        for (price, goesOn) in [(UInt64(10_500), true), (10_700, false)] {
            var meter = Meter()
            meter.take(10_000, pace: BusyPollingTests.slow)
            meter.take(
                in: 10_000 * 193 / 129,
                work: Array(repeating: 1, count: 65) + Array(repeating: 2, count: 64)
            )
            #expect(meter.isOn)
            meter.take(price, times: 2)
            #expect(meter.isOn == goesOn)
        }
    }

    @Test func `the threshold depends on the work found by sleeps, not by polls`() {
        var meter = BusyPollingTests.meter(work: 2)
        meter.take(9001, work: 1, times: 2)
        #expect(!meter.isOn)
        meter = BusyPollingTests.meter(work: 1)
        meter.take(12_000, work: 2, times: 20)
        #expect(meter.isOn)
    }

    @Test func `two slow measurements end polling at any cost`() {
        var meter = BusyPollingTests.meter()
        meter.take(1000, pace: BusyPollingTests.quick, times: 20)
        meter.take(1000, pace: BusyPollingTests.slow)
        #expect(meter.isOn)
        meter.take(1000, pace: BusyPollingTests.slow)
        #expect(!meter.isOn)
    }

    @Test func `polls without a result end polling`() {
        var meter = BusyPollingTests.meter()
        let nothing = Array(repeating: 0, count: 129)
        meter.take(in: 50_000, work: nothing)
        #expect(meter.isOn)
        meter.take(in: 50_000, work: nothing)
        #expect(!meter.isOn)
    }

    @Test func `a failure doubles the pause, up to 64 measurements, and a success halves it`() {
        var meter = Meter()
        meter.take(10_000, pace: BusyPollingTests.slow)
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            #expect(meter.rest() == pause)
            meter.take(20_000, times: 2)
            #expect(!meter.isOn)
        }
        for pause in [64, 32, 16, 8, 4, 2, 1, 1] {
            #expect(meter.rest() == pause)
            meter.take(10_000, times: 8)
            meter.take(20_000, times: 2)
            #expect(!meter.isOn)
        }
    }

    @Test func `a trial succeeds after eight worthwhile measurements`() {
        for (hits, pause) in [(7, 4), (8, 1)] {
            var meter = BusyPollingTests.meter()
            meter.take(20_000, times: 2)
            #expect(meter.rest() == 2)
            for _ in 0..<hits {
                meter.take(20_000)
                meter.take(10_000)
            }
            meter.take(20_000, times: 2)
            #expect(meter.rest() == pause)
        }
    }

    @Test func `slow measurements are not a failure, and do not count toward a trial`() {
        var meter = BusyPollingTests.meter()
        meter.take(20_000, times: 2)
        meter.take(10_000)
        meter.take(10_000, pace: BusyPollingTests.slow)
        #expect(!meter.isOn)
        meter.take(10_000)
        #expect(meter.isOn)
        meter.take(10_000, pace: BusyPollingTests.slow, times: 2)
        #expect(meter.rest() == 2)
    }

    @Test func `sleeps are measured again after 64 measurements, and set the new cost`() {
        var meter = BusyPollingTests.meter()
        meter.take(11_000, times: 63)
        #expect(meter.isOn)
        meter.take(11_000)
        #expect(!meter.isOn)
        meter.take(5000)
        #expect(meter.isOn)
        meter.take(11_000, times: 2)
        #expect(!meter.isOn)
    }

    @Test func `measurements in a pause are averaged with more weight on recent ones`() {
        for (price, goesOn) in [(UInt64(13_440), true), (13_500, false)] {
            var meter = BusyPollingTests.meter()
            meter.take(20_000, times: 2)
            meter.take(10_000)
            // The average is 10 µs, then 11.25 µs; the threshold is a fifth higher.
            meter.take(15_000)
            #expect(meter.isOn)
            meter.take(price, times: 2)
            #expect(meter.isOn == goesOn)
        }
    }

    @Test func `BusyPolling recovers from clocks that jump`() {
        var meter = BusyPollingTests.meter()
        let clocks: [(UInt64, UInt64)] = [(.max, .max), (0, 0), (0, .max), (.max, 0), (1, 1)]
        for work in [[Int.max], [0], [Int.max, 1], [Int.min]] {
            for (time, cost) in clocks + clocks.reversed() {
                for _ in 1...4 {
                    var waits = 1
                    while !meter.polling.count(work: waits <= work.count ? work[waits - 1] : 0) {
                        waits += 1
                    }
                    meter.polling.measure(at: time, cost: cost)
                }
            }
        }
        // It returns to normal.
        #expect(meter.rest() <= 66)
    }

    @Test func `a polling loop receives calls from other threads`() async throws {
        let loop = try EventLoop()
        try loop.start()
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

    @Test func `BusyPolling may be turned off in the middle of a poll`() async throws {
        let loop = try EventLoop()
        try loop.start()
        let done = Gate()
        loop.submit {
            loop.polling = BusyPollingTests.polling
            // The next poll finds this call, and the poll after that finds the nested one.
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
            (loop.polling?.isOn, loop.timePolled)
        }.value
        #expect(isOn == nil)
        #expect(polled >= 3_600_000_000_000)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `a loop whose polls find nothing sleeps, receives calls and stops`() async throws {
        let loop = try EventLoop()
        try loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling }
        let isVain = await eventually {
            await Task(executorPreference: loop) { loop.timePolled >= BusyPolling.longest }.value
        }
        #expect(isVain)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `a loop that must not poll takes no measurements`() async throws {
        let loop = try EventLoop()
        try loop.start()
        _ = await loop.call {
            $0.mayPoll = true
            $0.mayPoll = false
        }
        for _ in 0..<500 { await Task(executorPreference: loop) {}.value }
        let (polling, polled) = await Task(executorPreference: loop) {
            (loop.polling, loop.timePolled)
        }.value
        #expect(polling == nil)
        #expect(polled == 0)
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `a loop takes measurements asleep and polling`() async throws {
        let loop = try EventLoop()
        try loop.start()
        for polling in [BusyPolling(), BusyPollingTests.polling] {
            _ = await loop.call { $0.polling = polling }
            let isMeasured = await eventually {
                await Task(executorPreference: loop) {
                    loop.polling?.beginning.cost != polling.beginning.cost
                }.value
            }
            #expect(isMeasured)
            let (now, beginning, cost) = try await Task(executorPreference: loop) {
                let polling = try #require(loop.polling)
                return (loop.now, polling.beginning, threadProcessorNanoseconds())
            }.value
            #expect(beginning.time <= now && beginning.time > now - 60_000_000_000)
            #expect(beginning.cost <= cost && beginning.cost > 0)
        }
        loop.stop()
        await loop.waitUntilStopped()
    }
}

extension BusyPollingTests.Meter {
    /// Returns the number of measurements of sleeps until it polls, or 1000 if it never does.
    fileprivate mutating func rest() -> Int {
        for count in 1...1000 {
            take(10_000)
            if isOn { return count }
        }
        return 1000
    }
}
