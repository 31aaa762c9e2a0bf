import TestSupport
import Testing

@testable import EventIO

@Suite struct BusyPollingTests {
    /// A poll in vain is always a little too long.
    private static let vain = BusyPolling.longest + 1

    /// After so many short sleeps that each ended with so much work.
    private static func polling(sleeps: Int = 4, work: Int = 1) -> BusyPolling {
        var polling = BusyPolling(isAllowed: true)
        polling.takeSleeps(times: sleeps, work: work)
        return polling
    }

    @Test func `four short sleeps in a row begin it`() {
        #expect(!BusyPollingTests.polling(sleeps: 3).isOn)
        #expect(BusyPollingTests.polling(sleeps: 4).isOn)
    }

    @Test func `a long sleep begins the count anew, and its cost does not count`() {
        var polling = BusyPollingTests.polling(sleeps: 3)
        polling.slept(for: 100_001, costing: 50_000, work: 1)
        polling.takeSleeps(for: 100_000, times: 3)
        #expect(!polling.isOn)
        polling.takeSleeps(for: 100_000)
        #expect(polling.isOn)
        polling.takePolls(for: 31_000, times: 200)
        #expect(polling.isOn)
        polling.takePolls(for: 31_000)
        #expect(!polling.isOn)
    }

    @Test func `one wait in seventeen is measured, while it polls one in 257`() {
        var polling = BusyPolling(isAllowed: true)
        #expect((1...34).filter { _ in polling.isSampleDue() } == [17, 34])
        polling = BusyPollingTests.polling()
        #expect((1...514).filter { _ in polling.isSampleDue() } == [257, 514])
    }

    @Test func `where it is not allowed nothing is measured`() {
        var polling = BusyPolling()
        #expect(!(1...100).contains { _ in polling.isSampleDue() })
    }

    @Test func `four polls in vain end it, whatever it has saved`() {
        for saving in [0, 10_000] {
            var polling = BusyPollingTests.polling()
            polling.takePolls(for: 1000, times: saving)
            polling.takePolls(for: BusyPollingTests.vain, work: 0, times: 3)
            #expect(polling.isOn)
            polling.takePolls(for: BusyPollingTests.vain, work: 0)
            #expect(!polling.isOn)
        }
    }

    @Test func `it goes on for as long as polls cost no more than the sleeps are worth`() {
        var polling = BusyPollingTests.polling()
        polling.takePolls(for: 30_000, times: 10_000)
        #expect(polling.isOn)
        polling.takePolls(for: 31_000, times: 200)
        #expect(polling.isOn)
        polling.takePolls(for: 31_000)
        #expect(!polling.isOn)
    }

    @Test func `a sleep is worth no more than the longest poll`() {
        var polling = BusyPolling(isAllowed: true)
        for _ in 1...4 { polling.slept(for: 60_000, costing: 40_000, work: 1) }
        polling.takePolls(for: 51_000, times: 200)
        #expect(polling.isOn)
        polling.takePolls(for: 51_000)
        #expect(!polling.isOn)
    }

    @Test func `where a sleep lets work gather a poll is worth its part`() {
        // Two on average at last: a poll that finds one is worth 15 us, one that finds both is worth 30.
        var polling = BusyPollingTests.polling(sleeps: 50, work: 2)
        polling.takePolls(for: 29_000, work: 2, times: 1000)
        #expect(polling.isOn)
        polling.takePolls(for: 14_000, times: 1000)
        #expect(polling.isOn)
        polling.takePolls(for: 29_000, times: 20)
        #expect(!polling.isOn)
    }

    @Test func `sleeps that become cheaper end it`() {
        var polling = BusyPollingTests.polling()
        for _ in 0..<100 { polling.slept(for: 20_000, costing: 2000, work: 1) }
        #expect(polling.isOn)
        polling.takePolls(for: 20_000, times: 15)
        #expect(!polling.isOn)
    }

    @Test func `after a loss it takes twice as many short sleeps, up to 64`() {
        var polling = BusyPolling(isAllowed: true)
        for wanted in [4, 8, 16, 32, 64, 64] {
            polling.takeSleeps(times: wanted - 1)
            #expect(!polling.isOn)
            polling.takeSleeps()
            #expect(polling.isOn)
            polling.takePolls(for: BusyPollingTests.vain, work: 0, times: 4)
        }
        polling.takeSleeps(times: 64)
        // What this saves is more than the end costs.
        polling.takePolls(for: 20_000, times: 30)
        polling.takePolls(for: BusyPollingTests.vain, work: 0, times: 4)
        polling.takeSleeps(times: 3)
        #expect(!polling.isOn)
        polling.takeSleeps()
        #expect(polling.isOn)
    }

    @Test func `a poll that lost the processor counts as two in vain`() {
        var polling = BusyPollingTests.polling()
        polling.takePolls(for: 50_000_000, work: 0, times: 2)
        #expect(polling.isOn)
        polling.takePolls(for: 50_000_000, work: 0)
        #expect(!polling.isOn)
    }

    @Test func `a clock that was moved does it no harm`() {
        var polling = BusyPollingTests.polling()
        polling.slept(for: .max, costing: .max, work: .max)
        polling.slept(for: 0, costing: .max, work: .max)
        for _ in 0..<10 { polling.polled(for: .max, work: .max) }
        #expect(!polling.isOn)
        polling.polled(for: 0, work: 1)
        #expect(!polling.isOn)
    }

    @Test func `a loop that polls hears calls from other threads`() async throws {
        let loop = try EventLoop()
        loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling() }
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
            loop.polling = BusyPollingTests.polling()
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

    @Test func `a loop that polls in vain goes back to sleep, hears calls and stops`() async throws
    {
        let loop = try EventLoop()
        loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling() }
        let isOver = await eventually {
            await Task(executorPreference: loop) { !loop.polling.isOn }.value
        }
        #expect(isOver)
        let polled = await Task(executorPreference: loop) { loop.timePolled }.value
        #expect(polled >= 4 * BusyPolling.longest)
        _ = await loop.call { $0.polling = BusyPollingTests.polling() }
        loop.stop()
        await loop.waitUntilStopped()
    }
}

extension BusyPolling {
    fileprivate mutating func takeSleeps(for time: UInt64 = 60_000, times: Int = 1, work: Int = 1) {
        for _ in 0..<times { slept(for: time, costing: 10_000, work: work) }
    }

    fileprivate mutating func takePolls(for time: UInt64, work: Int = 1, times: Int = 1) {
        for _ in 0..<times { polled(for: time, work: work) }
    }
}
