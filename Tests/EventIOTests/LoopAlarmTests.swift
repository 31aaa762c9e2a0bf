import Testing

@testable import NetproxyEventIO

/// Tests of the time at which the timers of a loop fire, also after the process was suspended.
@Suite struct LoopAlarmTests {
    private static let second: UInt64 = 1_000_000_000

    private static func set(_ alarm: inout LoopAlarm, for time: UInt64, now: UInt64) -> UInt64? {
        alarm.set(for: time, now: now)
    }

    private static func goOff(_ alarm: inout LoopAlarm, at now: UInt64) -> UInt64? {
        alarm.goOff(at: now)
    }

    @Test func `an alarm can only be moved to an earlier time`() {
        var alarm = LoopAlarm()
        #expect(Self.set(&alarm, for: 500, now: 100) == 400)
        #expect(Self.set(&alarm, for: 600, now: 100) == nil)
        #expect(Self.set(&alarm, for: 300, now: 100) == 200)
        #expect(alarm.time == 300)
        // A time in the past goes off immediately.
        #expect(Self.set(&alarm, for: 50, now: 100) == 0)
    }

    @Test func `an alarm can be set again after it goes off`() {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 100)
        #expect(Self.goOff(&alarm, at: 510) == nil)
        #expect(alarm.time == .max)
        #expect(Self.set(&alarm, for: 900, now: 510) == 390)
    }

    @Test(arguments: [0, 1, LoopAlarmTests.second - 1])
    func `a busy loop does not count as suspended`(lateness: UInt64) {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        #expect(Self.goOff(&alarm, at: 500 + lateness) == nil)
    }

    @Test func `timers wait once for a catch-up after the process was suspended`() throws {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        let now = 500 + LoopAlarmTests.second
        let end = try #require(Self.goOff(&alarm, at: now))
        #expect(end == now + 100_000_000)
        #expect(Self.set(&alarm, for: end, now: now) == 100_000_000)
        // Even if the end of the catch-up is late as well.
        #expect(Self.goOff(&alarm, at: end + 60 * LoopAlarmTests.second) == nil)
        _ = alarm.set(for: end + 61 * LoopAlarmTests.second, now: end)
        #expect(Self.goOff(&alarm, at: end + 61 * LoopAlarmTests.second) == nil)
    }

    @Test func `an earlier alarm does not shorten a catch-up`() throws {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        let end = try #require(Self.goOff(&alarm, at: 60 * LoopAlarmTests.second))
        _ = alarm.set(for: end, now: 60 * LoopAlarmTests.second)
        #expect(Self.set(&alarm, for: 501, now: 60 * LoopAlarmTests.second) == nil)
        #expect(alarm.time == end)
    }
}
