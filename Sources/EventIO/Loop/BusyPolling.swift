/// Decides whether a loop that has nothing to do polls for a moment before it sleeps.
///
/// Falling asleep and waking up take CPU time, keep the peer waiting, and leave the caches cold. Where
/// the next event is some microseconds away, as with an app and an API on the same machine, it is
/// better to ask for it again and again; where many events come, a sleep lets them gather. What is
/// better depends on the machine and the load, so the loop tries: it measures what a piece of work
/// costs over some waits with sleeps and over some with polls. Polls may cost a fifth more where each
/// piece of work has a wait for itself, since then somebody waits for it; they have to be a tenth
/// cheaper where a sleep lets two or more gather, which a poll does not make quicker.
///
/// Precedents: the haltpoll governor of Linux and KVM's halt polling, which adapt to how long the
/// waits are, and HAProxy's `busy-polling`, which does not adapt.
struct BusyPolling {
    /// The longest poll, in nanoseconds: with what Linux's haltpoll governor begins, too.
    static let longest: UInt64 = 50_000
    /// How many waits are measured together: odd, since waits for the app and for the API take turns.
    static let window = 129
    /// The longest time from one wait to the next, in nanoseconds on average.
    ///
    /// Where it is longer, most polls would be in vain. A wake takes its time as well, and so does
    /// the work.
    static let longestPace: UInt64 = 200_000
    /// How many measures of polls there are before the sleeps are measured again.
    static let term = 64
    /// How many of them have to be worth it for a success.
    static let success = 8
    /// How many measures of sleeps there are before a trial at most: a failure doubles their number,
    /// a success halves it.
    static let longestPause = 64
    /// Parts of a piece of work, for the average.
    private static let parts: UInt64 = 16

    private enum Phase {
        /// So many measures of sleeps are still to come.
        case sleeping(left: Int)
        /// After so many measures of polls; so many were worth it, and so many of the last were not.
        case polling(measures: Int, hits: Int, misses: Int)
    }

    private var phase = Phase.sleeping(left: 1)
    private var pause = 1
    private var waits = 0
    private var work = 0
    /// When the present measure began, on the loop's clock, and the thread's CPU time then.
    ///
    /// Not when it was made: the first measure is too slow to count.
    private(set) var beginning: (time: UInt64, cost: UInt64) = (0, 0)
    /// What a piece of work costs with sleeps, in nanoseconds; a moving average since it last polled.
    private var price: UInt64 = 0
    /// How many pieces of work a sleep ends with, in parts; a moving average since it last polled.
    private var yield: UInt64 = 0

    /// Whether the next wait begins with a poll.
    var isOn: Bool {
        if case .polling = phase { true } else { false }
    }

    /// Counts a wait, and how many pieces of work there were behind it.
    ///
    /// - Returns: whether a measure is due.
    @inline(__always)
    mutating func count(work found: Int) -> Bool {
        waits += 1
        work &+= found
        return waits >= Self.window
    }

    /// Takes a measure, and decides how the loop goes on.
    ///
    /// - Parameters:
    ///   - time: what the loop's clock shows, in nanoseconds.
    ///   - cost: the CPU time of the loop's thread so far, in nanoseconds.
    mutating func measure(at time: UInt64, cost: UInt64) {
        let found = UInt64(max(work, 1))
        let isQuick = (time &- beginning.time) / UInt64(Self.window) <= Self.longestPace
        let spent = (cost &- beginning.cost) / found
        let gathered = min(found, 1 << 40) * Self.parts / UInt64(Self.window)
        (waits, work, beginning) = (0, 0, (time, cost))
        switch phase {
        case .sleeping(let left):
            // Slow ones tell nothing of what comes quickly.
            guard isQuick else { return }
            price = price == 0 ? spent : price - price / 4 &+ spent / 4
            yield = yield == 0 ? gathered : yield - yield / 4 + gathered / 4
            phase = left > 1 ? .sleeping(left: left - 1) : .polling(measures: 0, hits: 0, misses: 0)
        case .polling(let measures, let hits, let misses):
            let isWorthIt = isQuick && spent <= limit
            polled(
                measures: measures + 1,
                hits: isWorthIt ? hits + 1 : hits,
                misses: isWorthIt ? 0 : misses + 1,
                isQuick: isQuick
            )
        }
    }

    /// What a piece of work may cost with polls, in nanoseconds: from a fifth more to a tenth less.
    private var limit: UInt64 {
        let gathered = min(max(yield, Self.parts), 2 * Self.parts) - Self.parts
        return price / 100 &* (120 - 30 * gathered / Self.parts)
    }

    private mutating func polled(measures: Int, hits: Int, misses: Int, isQuick: Bool) {
        // One may be wrong: somebody else took the processor.
        if misses < 2, measures < Self.term {
            return phase = .polling(measures: measures, hits: hits, misses: misses)
        }
        if hits >= Self.success {
            pause = max(pause / 2, 1)
        } else if isQuick {
            pause = min(2 * pause, Self.longestPause)
        }
        phase = .sleeping(left: pause)
        (price, yield) = (0, 0)
    }
}
