import Testing

@testable import NetproxyEventIO

/// When the timers of a loop fire, also after the process stood still.
@Suite struct LoopAlarmTests {
    private static let second: UInt64 = 1_000_000_000

    private static func set(_ alarm: inout LoopAlarm, for time: UInt64, now: UInt64) -> UInt64? {
        alarm.set(for: time, now: now)
    }

    private static func goOff(_ alarm: inout LoopAlarm, at now: UInt64) -> UInt64? {
        alarm.goOff(at: now)
    }

    @Test func `an alarm is only brought forward`() {
        var alarm = LoopAlarm()
        #expect(Self.set(&alarm, for: 500, now: 100) == 400)
        #expect(Self.set(&alarm, for: 600, now: 100) == nil)
        #expect(Self.set(&alarm, for: 300, now: 100) == 200)
        #expect(alarm.time == 300)
        // Past times go off at once.
        #expect(Self.set(&alarm, for: 50, now: 100) == 0)
    }

    @Test func `an alarm that goes off can be set again`() {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 100)
        #expect(Self.goOff(&alarm, at: 510) == nil)
        #expect(alarm.time == .max)
        #expect(Self.set(&alarm, for: 900, now: 510) == 390)
    }

    @Test(arguments: [0, 1, LoopAlarmTests.second - 1])
    func `a busy loop has not stood still`(lateness: UInt64) {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        #expect(Self.goOff(&alarm, at: 500 + lateness) == nil)
    }

    @Test func `after a standstill the timers wait for a catch-up, once`() throws {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        let now = 500 + LoopAlarmTests.second
        let end = try #require(Self.goOff(&alarm, at: now))
        #expect(end == now + 100_000_000)
        #expect(Self.set(&alarm, for: end, now: now) == 100_000_000)
        // Even if that comes late as well.
        #expect(Self.goOff(&alarm, at: end + 60 * LoopAlarmTests.second) == nil)
        _ = alarm.set(for: end + 61 * LoopAlarmTests.second, now: end)
        #expect(Self.goOff(&alarm, at: end + 61 * LoopAlarmTests.second) == nil)
    }

    @Test func `nothing brings the end of a catch-up forward`() throws {
        var alarm = LoopAlarm()
        _ = alarm.set(for: 500, now: 0)
        let end = try #require(Self.goOff(&alarm, at: 60 * LoopAlarmTests.second))
        _ = alarm.set(for: end, now: 60 * LoopAlarmTests.second)
        #expect(Self.set(&alarm, for: 501, now: 60 * LoopAlarmTests.second) == nil)
        #expect(alarm.time == end)
    }
}
