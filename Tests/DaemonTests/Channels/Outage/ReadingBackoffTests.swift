import NetworkTesting
import Testing

@testable import NetproxyPath

@Suite struct ReadingBackoffTests {
    private let start = ContinuousClock.now

    @Test(arguments: [(1, 1.0, 1.0), (2, 2, 2), (4, 8, 8), (5, 16, 8), (6, 30, 8), (99, 30, 8)])
    func `pauses double up to their ceilings`(failures: Int, next: Double, forRequest: Double) {
        var backoff = ReadingBackoff(at: start)
        for _ in 0..<failures { backoff.fail(at: start, jitter: 1) }
        #expect(backoff.due - start == .seconds(next))
        #expect(backoff.dueForRequest - start == .seconds(forRequest))
    }

    @Test func `jitter shortens a pause, but not below a second`() {
        var backoff = ReadingBackoff(at: start)
        for _ in 0..<9 { backoff.fail(at: start, jitter: 0.5) }
        #expect(backoff.due - start == .seconds(15))
        #expect(backoff.dueForRequest - start == .seconds(4))
        backoff.fail(at: start, jitter: 0)
        #expect(backoff.due - start == .seconds(1))
    }
}

@Suite struct RecoveryPaceTests {
    private let clock = ManualClock()

    /// Begins the pause after the last of a number of failures.
    private func pause(_ pace: RecoveryPace, after failures: Int) async -> Task<Void, Never> {
        for _ in 1..<failures {
            let pause = Task { await pace.waitAfterFailure(jitter: 1) }
            await clock.untilSomebodySleeps()
            clock.advance(by: .seconds(30))
            await pause.value
        }
        let pause = Task { await pace.waitAfterFailure(jitter: 1) }
        await clock.untilSomebodySleeps()
        return pause
    }

    @Test func `the next attempt begins after the pause`() async {
        let pace = RecoveryPace(clock: clock)
        #expect(pace.untilNext == nil)
        let pause = await pause(pace, after: 5)
        #expect(pace.untilNext == .seconds(16))
        #expect(pace.untilRequest == .seconds(8))
        clock.advance(by: .seconds(16))
        await pause.value
        #expect(pace.untilNext == nil)
        #expect(pace.untilRequest == .zero)
    }

    @Test func `a request begins the next attempt, but not right after a failure`() async {
        let pace = RecoveryPace(clock: clock)
        let pause = await pause(pace, after: 5)
        clock.advance(by: .seconds(7))
        pace.hurry()
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        pace.hurry()
        await pause.value
    }

    @Test func `a request during an attempt changes nothing`() async {
        let pace = RecoveryPace(clock: clock)
        pace.hurry()
        let pause = await pause(pace, after: 1)
        #expect(pace.untilNext == .seconds(1))
        pause.cancel()
        await pause.value
    }
}
