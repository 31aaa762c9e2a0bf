/// Decides whether an idle loop polls for a moment before it sleeps.
///
/// Going to sleep and waking up take CPU time, delay the peer, and leave the caches cold. If the next event
/// is a few microseconds away, as with a client and an API on one machine, polling is better. If many events
/// arrive, a sleep lets them gather. This depends on the machine and the load, so the loop measures the CPU
/// time per piece of work, over one window of waits that sleep and over windows of waits that poll:
///
/// - If each wait ends with one piece of work, its peer is waiting: polling may cost 20 % more.
/// - If two or more pieces gather during a sleep, polling must cost 10 % less.
/// - If the next wait is more than 200 µs away on average, most polls would find nothing.
///
/// The loop polls while polling is worthwhile, and measures sleeps again after 64 windows. A failed trial
/// doubles the number of sleeping windows before the next one; a success halves it.
///
/// Precedents: Linux's haltpoll governor and KVM's halt polling, which adapt to the length of the waits, and
/// HAProxy's `busy-polling`, which does not adapt.
struct BusyPolling {
    /// The longest poll, in nanoseconds, the same as the initial value of Linux's haltpoll governor.
    static let longest: UInt64 = 50_000
    /// The number of waits in a window: odd, since waits for the client and for the API alternate.
    static let window = 129
    /// The longest average time between two waits, in nanoseconds, including work and wake-up.
    static let longestPace: UInt64 = 200_000
    /// The number of windows that poll before sleeps are measured again.
    static let term = 64
    /// The number of worthwhile windows that make a trial a success.
    static let success = 8
    /// The maximum number of sleeping windows before the next trial.
    static let longestPause = 64
    /// The number of fixed-point fractions of a piece of work, for the average.
    private static let parts: UInt64 = 16

    private enum Phase {
        /// `left` more windows sleep before the next trial.
        case sleeping(left: Int)
        /// A trial with `measures` windows, of which `hits` were worthwhile and the last `misses` were not.
        case polling(measures: Int, hits: Int, misses: Int)
    }

    private var phase = Phase.sleeping(left: 1)
    private var pause = 1
    private var waits = 0
    private var work = 0
    /// The start of the current window on the loop's clock, and the thread's CPU time at that moment.
    ///
    /// It is not set at the loop's creation, since the first window is too slow to count.
    private(set) var beginning: (time: UInt64, cost: UInt64) = (0, 0)
    /// The cost of a piece of work with sleeps, in nanoseconds; a moving average since the last poll.
    private var price: UInt64 = 0
    /// The pieces of work at the end of a sleep, in fractions; a moving average since the last poll.
    private var yield: UInt64 = 0

    /// Whether the next wait begins with a poll.
    var isOn: Bool {
        if case .polling = phase { true } else { false }
    }

    /// Counts a wait and the resulting pieces of work.
    ///
    /// - Returns: whether the window is full and `measure(at:cost:)` is due.
    @inline(__always)
    mutating func count(work found: Int) -> Bool {
        waits += 1
        work &+= found
        return waits >= Self.window
    }

    /// Evaluates a full window, and decides whether the next one polls.
    ///
    /// - Parameters:
    ///   - time: the time on the loop's clock, in nanoseconds.
    ///   - cost: the CPU time of the loop's thread so far, in nanoseconds.
    mutating func measure(at time: UInt64, cost: UInt64) {
        let found = UInt64(max(work, 1))
        let isQuick = (time &- beginning.time) / UInt64(Self.window) <= Self.longestPace
        let spent = (cost &- beginning.cost) / found
        let gathered = min(found, 1 << 40) * Self.parts / UInt64(Self.window)
        (waits, work, beginning) = (0, 0, (time, cost))
        switch phase {
        case .sleeping(let left):
            // A slow window predicts nothing about a fast one.
            guard isQuick else { return }
            price = price == 0 ? spent : price - price / 4 &+ spent / 4
            yield = yield == 0 ? gathered : yield - yield / 4 + gathered / 4
            phase = left > 1 ? .sleeping(left: left - 1) : .polling(measures: 0, hits: 0, misses: 0)
        case .polling(let measures, let hits, let misses):
            let isWorthIt = isQuick && spent <= limit
            let (hits, misses) = isWorthIt ? (hits + 1, 0) : (hits, misses + 1)
            // A single miss can be an error: another process may have used the processor.
            if misses < 2, measures + 1 < Self.term {
                return phase = .polling(measures: measures + 1, hits: hits, misses: misses)
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

    /// The maximum cost of a piece of work with polls, in nanoseconds: between 20 % more and 10 % less.
    private var limit: UInt64 {
        let gathered = min(max(yield, Self.parts), 2 * Self.parts) - Self.parts
        return price / 100 &* (120 - 30 * gathered / Self.parts)
    }
}
