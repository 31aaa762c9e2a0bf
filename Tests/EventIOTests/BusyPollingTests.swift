import TestSupport
import Testing

@testable import EventIO

@Suite struct BusyPollingTests {
    /// The time of a sleep that takes 10 us of CPU, so that a poll is worth 30.
    private static let cost: UInt64 = 10_000
    private static let vain = BusyPolling.longest

    /// After so many short sleeps.
    private static func polling(sleeps: Int = 4) -> BusyPolling {
        var polling = BusyPolling()
        for _ in 0..<sleeps { polling.slept(for: 60_000, costing: cost) }
        return polling
    }

    @Test func `four short sleeps in a row begin it`() {
        #expect(!BusyPollingTests.polling(sleeps: 3).isOn)
        #expect(BusyPollingTests.polling(sleeps: 4).isOn)
    }

    @Test func `a long sleep begins the count anew`() {
        var polling = BusyPollingTests.polling(sleeps: 3)
        polling.slept(for: 100_001, costing: BusyPollingTests.cost)
        for _ in 0..<3 { polling.slept(for: 100_000, costing: BusyPollingTests.cost) }
        #expect(!polling.isOn)
        polling.slept(for: 100_000, costing: BusyPollingTests.cost)
        #expect(polling.isOn)
    }

    @Test func `one wait in seventeen is measured, while it polls one in 257`() {
        var polling = BusyPolling()
        #expect((1...34).filter { _ in polling.samples() } == [17, 34])
        polling = BusyPollingTests.polling()
        #expect((1...514).filter { _ in polling.samples() } == [257, 514])
    }

    @Test func `where it is not allowed nothing is measured`() {
        var polling = BusyPolling(isAllowed: false)
        #expect(!(1...100).contains { _ in polling.samples() })
    }

    @Test func `five polls in vain end it`() {
        var polling = BusyPollingTests.polling()
        for _ in 0..<4 { polling.polled(for: BusyPollingTests.vain, isInVain: true) }
        #expect(polling.isOn)
        polling.polled(for: BusyPollingTests.vain, isInVain: true)
        #expect(!polling.isOn)
    }

    @Test func `it goes on for as long as polls cost no more than sleeps`() {
        var polling = BusyPollingTests.polling()
        for _ in 0..<10_000 { polling.polled(for: 30_000, isInVain: false) }
        #expect(polling.isOn)
        for _ in 0..<200 { polling.polled(for: 31_000, isInVain: false) }
        #expect(polling.isOn)
        polling.polled(for: 31_000, isInVain: false)
        #expect(!polling.isOn)
    }

    @Test func `what it has saved does not pay for more than five polls in vain`() {
        var polling = BusyPollingTests.polling()
        for _ in 0..<10_000 { polling.polled(for: 1000, isInVain: false) }
        for _ in 0..<5 { polling.polled(for: BusyPollingTests.vain, isInVain: true) }
        #expect(!polling.isOn)
    }

    @Test func `sleeps that become cheaper end it`() {
        var polling = BusyPollingTests.polling()
        for _ in 0..<100 { polling.slept(for: 20_000, costing: 2000) }
        #expect(polling.isOn)
        for _ in 0..<15 { polling.polled(for: 20_000, isInVain: false) }
        #expect(!polling.isOn)
    }

    @Test func `after a mistake it takes twice as many short sleeps, up to 512`() {
        var polling = BusyPolling()
        for wanted in [4, 8, 16, 32, 64, 128, 256, 512, 512] {
            for _ in 1..<wanted { polling.slept(for: 60_000, costing: BusyPollingTests.cost) }
            #expect(!polling.isOn)
            polling.slept(for: 60_000, costing: BusyPollingTests.cost)
            #expect(polling.isOn)
            for _ in 0..<5 { polling.polled(for: BusyPollingTests.vain, isInVain: true) }
        }
        for _ in 0..<512 { polling.slept(for: 60_000, costing: BusyPollingTests.cost) }
        for _ in 0..<300 { polling.polled(for: 1000, isInVain: false) }
        for _ in 0..<5 { polling.polled(for: BusyPollingTests.vain, isInVain: true) }
        for _ in 0..<4 { polling.slept(for: 60_000, costing: BusyPollingTests.cost) }
        #expect(polling.isOn)
    }

    @Test func `a clock that was moved does it no harm`() {
        var polling = BusyPollingTests.polling()
        polling.slept(for: .max, costing: .max)
        polling.polled(for: .max, isInVain: false)
        polling.polled(for: .max, isInVain: true)
        #expect(!polling.isOn)
    }

    @Test func `a loop that polls in vain goes back to sleep, hears calls and stops`() async throws
    {
        let loop = try EventLoop()
        loop.start()
        _ = await loop.call { $0.polling = BusyPollingTests.polling() }
        let isOn = try await Task(executorPreference: loop) {
            for _ in 0..<6 { try await loop.sleep(for: .milliseconds(1)) }
            return loop.polling.isOn
        }.value
        #expect(!isOn)
        _ = await loop.call { $0.polling = BusyPollingTests.polling() }
        loop.stop()
        await loop.waitUntilStopped()
    }
}
