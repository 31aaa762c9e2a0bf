/// Decides whether a loop that has nothing to do polls for a moment before it sleeps.
///
/// Falling asleep and waking up take CPU time, keep the peer waiting, and leave the caches cold. Where
/// the next event is some microseconds away, as with an app and an API on the same machine, it is
/// better to ask for it again and again; where many events come, a sleep lets them gather. What is
/// cheaper depends on the machine and the load, so the loop tries: it measures what a piece of work
/// costs over some waits with sleeps and over some with polls, and polls where that is cheaper. It
/// measures the polls all along, and the sleeps again now and then.
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
    static let longestPace = 4 * longest
    /// How many measures of polls there are before the sleeps are measured again.
    static let term = 64
    /// How many measures of sleeps there are between two trials at most: each failure doubles it.
    static let longestPause = 64
    /// How many measures of polls make a trial a success.
    static let success = 8

    let isAllowed: Bool
    /// Whether the next wait begins with a poll.
    private(set) var isOn = false
    private var waits = 0
    private var work = 0
    /// When the present measure began, on the loop's clock, and the thread's CPU time then.
    private(set) var beginning: (time: UInt64, cost: UInt64) = (0, 0)
    /// What a piece of work may cost with polls, in nanoseconds.
    private var highestPrice: UInt64 = 0
    /// How many measures of polls there were since it began.
    private var measures = 0
    /// How many of the last ones in a row were not worth it.
    private var misses = 0
    /// How many measures of sleeps there are before a trial, and how many are still to come.
    private var pause = 1
    private var pauseLeft = 1

    init(isAllowed: Bool = false) {
        self.isAllowed = isAllowed
    }

    /// Counts a wait, and how many pieces of work there were behind it.
    ///
    /// - Returns: whether a measure is due.
    @inline(__always)
    mutating func count(work found: Int) -> Bool {
        waits += 1
        work &+= found
        return waits >= BusyPolling.window
    }

    /// Takes a measure, and decides how the loop goes on.
    ///
    /// - Parameters:
    ///   - time: what the loop's clock shows, in nanoseconds.
    ///   - cost: the CPU time of the loop's thread so far, in nanoseconds.
    mutating func measure(at time: UInt64, cost: UInt64) {
        let price = (cost &- beginning.cost) / UInt64(max(work, 1))
        let pace = (time &- beginning.time) / UInt64(BusyPolling.window)
        let isQuick = pace <= BusyPolling.longestPace
        let gathers = work >= 2 * BusyPolling.window
        (waits, work, beginning) = (0, 0, (time, cost))
        if isOn { return polled(isWorthIt: isQuick && price <= highestPrice) }
        guard isQuick else { return }
        // Where each piece of work has a wait for itself, somebody waits for it: that is worth a fifth.
        // Elsewhere it has to be a gain, and a measure may be wrong by a tenth.
        highestPrice = gathers ? price - price / 10 : price &+ price / 5
        pauseLeft -= 1
        isOn = pauseLeft <= 0
    }

    private mutating func polled(isWorthIt: Bool) {
        measures += 1
        misses = isWorthIt ? 0 : misses + 1
        // One may be wrong: somebody else took the processor.
        if misses < 2, measures < BusyPolling.term { return }
        let isSuccess = measures >= BusyPolling.success
        pause = isSuccess ? 1 : min(2 * pause, BusyPolling.longestPause)
        (isOn, measures, misses, pauseLeft) = (false, 0, 0, pause)
    }
}
