/// Decides whether a loop that has nothing to do polls for a moment before it sleeps.
///
/// Falling asleep and waking up take CPU time, keep the peer waiting, and leave the caches cold. Where
/// the next event is some microseconds away, as with an app and an API on the same machine, it is
/// better to ask for it again and again; elsewhere that is waste. So the loop measures a sleep now and
/// then. Several short ones in a row begin a time of polling, and it ends once polling has cost more
/// than the sleeps that it saved were worth.
///
/// Precedents: the haltpoll governor of Linux and KVM's halt polling, which adapt like this, and
/// HAProxy's `busy-polling`, which does not.
struct BusyPolling {
    /// The longest poll, in nanoseconds: with what Linux's haltpoll governor begins, too.
    static let longest: UInt64 = 50_000
    /// A sleep that could have been a poll: a wake takes its time as well.
    private static let shortSleep = 2 * longest
    /// What a saved sleep is worth, as a multiple of its CPU time: the rest is what cold caches cost,
    /// and a price for latency.
    private static let worth: Int64 = 3
    /// What polling may cost before it has saved anything.
    private static let credit = 4 * Int64(longest)
    /// How many short sleeps in a row begin it, at first and at most.
    private static let trials = 4...64
    /// One in so many waits is measured; both are odd, since waits for the app and for the API take
    /// turns.
    private static let sampling = (asleep: 17, polling: 257)
    /// Parts of a piece of work, for the average.
    private static let parts: Int64 = 16

    let isAllowed: Bool
    /// Whether the next wait begins with a poll.
    private(set) var isOn = false
    /// CPU time of a short sleep, in nanoseconds; a moving average.
    private var sleepCost: Int64 = 0
    /// How many pieces of work a short sleep ends with, in parts; a moving average.
    private var sleepYield = parts
    /// What polling may still cost.
    private var balance: Int64 = 0
    /// What this time of polling has saved.
    private var profit: Int64 = 0
    private var shortSleeps = 0
    private var shortSleepsWanted = trials.lowerBound
    private var untilSample = sampling.asleep

    init(isAllowed: Bool = false) {
        self.isAllowed = isAllowed
    }

    /// Counts a wait: whether it is to be a sleep that is measured.
    @inline(__always)
    mutating func isSampleDue() -> Bool {
        guard isAllowed else { return false }
        untilSample -= 1
        guard untilSample == 0 else { return false }
        untilSample = isOn ? BusyPolling.sampling.polling : BusyPolling.sampling.asleep
        return true
    }

    /// Takes the measure of a sleep.
    ///
    /// - Parameters:
    ///   - time: how long it was, in nanoseconds.
    ///   - cost: the CPU time that it took, in nanoseconds.
    ///   - work: how many pieces of work there were then.
    mutating func slept(for time: UInt64, costing cost: UInt64, work: Int) {
        guard time <= BusyPolling.shortSleep else { return shortSleeps = 0 }
        let cost = Int64(min(cost, BusyPolling.longest))
        sleepCost = sleepCost == 0 ? cost : sleepCost + (cost - sleepCost) / 8
        let found = BusyPolling.parts * Int64(min(max(work, 1), 1000))
        sleepYield += (found - sleepYield) / 4
        shortSleeps += 1
        if !isOn, shortSleeps >= shortSleepsWanted { begin() }
    }

    /// Takes the measure of a poll.
    ///
    /// Each piece of work is credited with its part of a sleep: where many come by themselves, one
    /// sleep lets them gather.
    ///
    /// - Parameters:
    ///   - time: how long it was, in nanoseconds.
    ///   - work: how many pieces of work there were then; with none the loop has to sleep after all.
    mutating func polled(for time: UInt64, work: Int) {
        guard isOn else { return }
        let sleeps = BusyPolling.parts * Int64(min(work, 1000))
        let saved = min(
            BusyPolling.worth * sleepCost * sleeps / sleepYield,
            Int64(BusyPolling.longest)
        )
        // What is longer was spent by somebody else, who took the processor away.
        let change = saved - Int64(min(time, 2 * BusyPolling.longest))
        profit += change
        balance = min(balance + change, BusyPolling.credit)
        if balance < 0 { end() }
    }

    private mutating func begin() {
        isOn = true
        balance = BusyPolling.credit
        profit = 0
        untilSample = BusyPolling.sampling.polling
    }

    private mutating func end() {
        isOn = false
        shortSleeps = 0
        untilSample = BusyPolling.sampling.asleep
        shortSleepsWanted =
            profit < 0
            ? min(2 * shortSleepsWanted, BusyPolling.trials.upperBound)
            : BusyPolling.trials.lowerBound
    }
}
