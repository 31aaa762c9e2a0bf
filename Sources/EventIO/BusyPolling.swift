/// Decides whether a loop that has nothing to do polls for a moment before it sleeps.
///
/// Falling asleep and waking up take CPU time and latency, and what runs next finds the caches cold.
/// Where the next event is some microseconds away, as with an app and an API on the same machine,
/// asking for it again and again costs less; where it is not, that is waste. So the loop measures a
/// sleep now and then. Several short ones in a row begin a time of polling, and it ends once polling
/// has cost more than the sleeps that it saved.
///
/// Precedents: the haltpoll governor of Linux and KVM's halt polling, which adapt like this, and
/// HAProxy's `busy-polling`, which does not.
struct BusyPolling {
    /// The longest poll, in nanoseconds: with what Linux's haltpoll governor begins, too.
    static let longest: UInt64 = 50_000
    /// A sleep that would have been a poll: a wake takes its time as well.
    private static let shortSleep = 2 * longest
    /// What a sleep costs in all, as a multiple of its own CPU time: what the thread does next takes
    /// as much again, since it begins with cold caches, and the wake keeps the peer waiting.
    private static let costFactor: Int64 = 3
    /// What polling may cost before it has saved anything.
    private static let credit = 4 * Int64(longest)
    /// How many short sleeps in a row begin it, at first and at most.
    private static let trials = 4...512
    /// A time of polling with fewer polls was a mistake.
    private static let fewPolls = 256
    /// One in so many waits is measured; both are odd, since waits for the app and for the API take
    /// turns.
    private static let sampling = (asleep: 17, polling: 257)

    let isAllowed: Bool
    /// Whether the next wait begins with a poll.
    private(set) var isOn = false
    /// CPU time of a sleep, in nanoseconds; a moving average.
    private var sleepCost: Int64 = 0
    /// What polling may still cost.
    private var balance: Int64 = 0
    private var polls = 0
    private var shortSleeps = 0
    private var shortSleepsWanted = trials.lowerBound
    private var untilSample = sampling.asleep

    init(isAllowed: Bool = true) {
        self.isAllowed = isAllowed
    }

    /// Whether this wait is to be a sleep that is measured.
    @inline(__always)
    mutating func samples() -> Bool {
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
    mutating func slept(for time: UInt64, costing cost: UInt64) {
        let cost = Int64(min(cost, BusyPolling.longest))
        sleepCost = sleepCost == 0 ? cost : sleepCost + (cost - sleepCost) / 8
        guard !isOn else { return }
        shortSleeps = time <= BusyPolling.shortSleep ? shortSleeps + 1 : 0
        if shortSleeps >= shortSleepsWanted { begin() }
    }

    /// Takes the measure of a poll.
    ///
    /// - Parameters:
    ///   - time: how long it was, in nanoseconds.
    ///   - isInVain: whether the loop has to sleep after all.
    mutating func polled(for time: UInt64, isInVain: Bool) {
        polls += 1
        let saved = isInVain ? 0 : BusyPolling.costFactor * sleepCost
        // More than all of the credit would change nothing.
        let spent = Int64(min(time, 4 * UInt64(BusyPolling.credit)))
        balance = min(balance + saved - spent, BusyPolling.credit)
        if balance < 0 { end() }
    }

    private mutating func begin() {
        isOn = true
        balance = BusyPolling.credit
        polls = 0
        untilSample = BusyPolling.sampling.polling
    }

    private mutating func end() {
        isOn = false
        shortSleeps = 0
        untilSample = BusyPolling.sampling.asleep
        shortSleepsWanted =
            polls < BusyPolling.fewPolls
            ? min(2 * shortSleepsWanted, BusyPolling.trials.upperBound)
            : BusyPolling.trials.lowerBound
    }
}
