import Testing

@testable import NetproxyPath

/// The minimum rate of request content.
@Suite struct BodyPaceTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `five seconds are free, and each byte adds time according to the rate`() {
        var pace = BodyPace(rate: 100)
        #expect(pace.deadline(after: 0, now: 0) == 5 * Self.second)
        #expect(pace.deadline(after: 200, now: 0) == 7 * Self.second)
        pace.waited(from: 0, to: 4 * Self.second)
        #expect(pace.deadline(after: 200, now: 10 * Self.second) == 13 * Self.second)
        pace.waited(from: 0, to: 40 * Self.second)
        #expect(pace.deadline(after: 200, now: 10 * Self.second) == 10 * Self.second)
        pace.reset()
        #expect(pace.deadline(after: 0, now: 0) == 5 * Self.second)
    }

    @Test func `without a configured rate no client is too slow`() {
        #expect(BodyPace(rate: nil).deadline(after: 0, now: 0) == .max)
    }
}
