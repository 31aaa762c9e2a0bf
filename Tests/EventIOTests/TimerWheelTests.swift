import TestSupport
import Testing

@testable import NetproxyEventIO

/// Compares the wheel with a list of deadlines, turn by turn.
@Suite struct TimerWheelTests {
    private static let tick: UInt64 = 16_000_000

    /// The wheel of a loop, beside a model of its expected behavior.
    private struct Model {
        var wheel: TimerWheel
        var now: UInt64
        var turned: UInt64
        /// The time at which the loop would turn the wheel.
        var armed = UInt64.max
        var deadlines: [ObjectIdentifier: UInt64] = [:]

        init(now: UInt64) {
            wheel = TimerWheel(now: now)
            self.now = now
            turned = now / tick
        }

        mutating func schedule(_ entry: TimerEntry, at deadline: UInt64) {
            deadlines[ObjectIdentifier(entry)] = deadline == .max ? nil : deadline
            armed = min(armed, wheel.schedule(entry, at: deadline) ?? .max)
        }

        /// Returns the due entries according to the list.
        mutating func turn() -> Set<ObjectIdentifier> {
            let target = now / tick
            guard target > turned else { return [] }
            turned = target
            let due = deadlines.filter { $0.value / tick < target }
            for entry in due.keys { deadlines[entry] = nil }
            return Set(due.keys)
        }

        /// The latest time at which the loop must turn the wheel.
        var limit: UInt64 {
            guard let first = deadlines.values.min() else { return .max }
            return max(first / tick + 1, turned + 1) * tick
        }
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `only entries whose tick has passed are due`(seed: UInt64) {
        var numbers = SplitMix64(seed: seed)
        var model = Model(now: 7_777_777_777 + seed)
        let entries = (0..<12).map { _ in TimerEntry() }
        // Within a tick, within a turn of the wheel (8 s), and beyond it.
        let delays: [UInt64] = [1, 20_000_000, 300_000_000, 7_900_000_000, 40_000_000_000]
        let steps: [UInt64] = [1, 16_000_000, 100_000_000, 9_000_000_000]
        for _ in 0..<3000 {
            let entry = entries[Int(numbers.next(below: UInt64(entries.count)))]
            switch numbers.next(below: 9) {
            case 0..<4:
                let bound = delays[Int(numbers.next(below: UInt64(delays.count)))]
                model.schedule(entry, at: model.now + numbers.next(below: bound))
            case 8:
                // A deadline in the past, or none.
                let past = model.now - numbers.next(below: 100_000_000)
                model.schedule(entry, at: numbers.next(below: 2) == 0 ? past : .max)
            case 4:
                model.wheel.suspend(entry)
                model.deadlines[ObjectIdentifier(entry)] = nil
            case 5:
                model.wheel.remove(entry)
                model.deadlines[ObjectIdentifier(entry)] = nil
            default:
                model.now += numbers.next(below: steps[Int(numbers.next(below: 4))])
                let due = model.wheel.turn(now: model.now)
                #expect(Set(due.map { ObjectIdentifier($0) }) == model.turn())
                #expect(Set(due.map { ObjectIdentifier($0) }).count == due.count)
                model.armed = model.wheel.nextTurn ?? .max
            }
            #expect(model.armed <= model.limit)
        }
        for entry in entries { model.wheel.remove(entry) }
        #expect(model.wheel.nextTurn == nil)
        #expect(model.wheel.turn(now: model.now + 60_000_000_000).isEmpty)
    }

    @Test func `a distant deadline does not wake an idle loop in every turn`() {
        var wheel = TimerWheel(now: 0)
        let entries = (0..<50).map { _ in TimerEntry() }
        for (index, entry) in entries.enumerated() {
            // Like connections with an idle timeout of 75 s.
            _ = wheel.schedule(entry, at: 75_000_000_000 + UInt64(index) * 100_000_000)
        }
        var (turns, due) = (0, 0)
        while let next = wheel.nextTurn, next < 75_000_000_000 {
            due += wheel.turn(now: next).count
            turns += 1
        }
        #expect(turns <= 4 && due == 0)
        while let next = wheel.nextTurn { due += wheel.turn(now: next).count }
        #expect(due == 50)
    }

    @Test func `a deadline moved within its tick does not change the next turn`() {
        var wheel = TimerWheel(now: 0)
        let entry = TimerEntry()
        #expect(wheel.schedule(entry, at: 50_000_000) == 4 * Self.tick)
        #expect(wheel.schedule(entry, at: 50_000_001) == nil)
        #expect(wheel.schedule(entry, at: 90_000_000) == nil)
        #expect(wheel.schedule(entry, at: 47_000_000) == 3 * Self.tick)
        #expect(wheel.turn(now: 3 * Self.tick).count == 1)
    }
}

extension SplitMix64 {
    fileprivate mutating func next(below bound: UInt64) -> UInt64 { next(upperBound: bound) }
}
