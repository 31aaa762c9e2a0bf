/// An entry with a deadline on an event loop; a subclass implements `fire()`.
///
/// Moving the deadline is a single store. The wheel checks the deadline again at the entry's old turn.
open class TimerEntry {
    // SAFETY: one thread, single loads and stores.
    @exclusivity(unchecked) fileprivate var deadline = UInt64.max
    /// The tick at which the wheel visits the entry next; 0 while the entry is not in the wheel.
    @exclusivity(unchecked) fileprivate var visit: UInt64 = 0
    @exclusivity(unchecked) fileprivate var position = 0
    /// Whether the deadline has passed and `fire()` is called in this turn.
    @exclusivity(unchecked) fileprivate var isDue = false
    /// Whether the entry is among the wheel's distant entries.
    @exclusivity(unchecked) fileprivate var isDistant = false

    /// Creates an entry that is not scheduled.
    public init() {}

    /// Called on the loop once the deadline has passed; the deadline is unset before the call.
    open func fire() {}

    /// Calls `fire()`, unless another entry of the same turn has canceled it.
    final func fireIfDue() {
        guard unsafe isDue else { return }
        unsafe isDue = false
        fire()
    }
}

/// A timer that calls a closure.
package final class ActionTimer: TimerEntry {
    private let action: () -> Void

    /// Creates a timer that is not scheduled.
    package init(_ action: @escaping () -> Void) {
        self.action = action
    }

    /// Calls the closure.
    package override func fire() { action() }
}

/// The coarse timers of one loop, in hashed buckets of 16 ms.
///
/// Ten thousand idle connections cost ten thousand stores and no system call. Entries more than one turn of
/// the wheel (8 s) away are in a list that is scanned when the first of them approaches. In the buckets they
/// would wake an idle loop in every turn.
struct TimerWheel {
    private static let bucketCount = 512
    private static let tick: UInt64 = 16_000_000

    private var buckets = [[TimerEntry]](repeating: [], count: bucketCount)
    private var current: UInt64
    /// The number of entries in the buckets.
    private var entryCount = 0
    private var distant: [TimerEntry] = []
    /// The tick of the next scan of the distant entries; `.max` if there are none.
    private var distantVisit = UInt64.max

    init(now: UInt64) {
        current = now / TimerWheel.tick
    }

    /// The time of the next turn; `nil` if the wheel is empty.
    var nextTurn: UInt64? {
        let turn = min(nextBucket ?? .max, distantVisit)
        return turn == .max ? nil : turn * TimerWheel.tick
    }

    private var nextBucket: UInt64? {
        guard entryCount > 0 else { return nil }
        for offset in 1...UInt64(TimerWheel.bucketCount) {
            let index = Int((current + offset) % UInt64(TimerWheel.bucketCount))
            if !buckets[index].isEmpty { return current + offset }
        }
        return nil
    }

    /// Sets an entry's deadline, in nanoseconds of the loop's clock.
    ///
    /// - Returns: the time at which the wheel must turn for the entry; `nil` if it already turns early
    ///   enough.
    @inline(__always)
    mutating func schedule(_ entry: TimerEntry, at deadline: UInt64) -> UInt64? {
        unsafe entry.deadline = deadline
        unsafe entry.isDue = false
        // The entry is already in the wheel and visited early enough: its deadline is checked again then.
        if unsafe entry.visit != 0, unsafe deadline / TimerWheel.tick + 1 >= entry.visit {
            return nil
        }
        guard deadline != .max else { return nil }
        unlink(entry)
        link(entry)
        return unsafe entry.visit * TimerWheel.tick
    }

    /// Clears the deadline, and leaves the entry in place until its turn.
    @inline(__always)
    func suspend(_ entry: TimerEntry) {
        unsafe entry.deadline = .max
        unsafe entry.isDue = false
    }

    /// Removes an entry from the wheel.
    mutating func remove(_ entry: TimerEntry) {
        suspend(entry)
        unlink(entry)
    }

    /// Turns the wheel, and returns the due entries; the caller calls `fireIfDue()` on each of them.
    mutating func turn(now: UInt64) -> [TimerEntry] {
        let target = now / TimerWheel.tick
        guard target > current else { return [] }
        var due: [TimerEntry] = []
        let steps = min(target - current, UInt64(TimerWheel.bucketCount))
        let start = target - steps + 1
        current = target
        for turn in start...target {
            let index = Int(turn % UInt64(TimerWheel.bucketCount))
            guard !buckets[index].isEmpty else { continue }
            let visited = buckets[index]
            buckets[index].removeAll(keepingCapacity: true)
            entryCount -= visited.count
            visit(visited, at: target, &due)
        }
        if target >= distantVisit {
            let visited = distant
            (distant, distantVisit) = ([], .max)
            visit(visited, at: target, &due)
        }
        return due
    }

    /// Removes the due entries, and links the others again.
    private mutating func visit(
        _ entries: [TimerEntry],
        at target: UInt64,
        _ due: inout [TimerEntry]
    ) {
        for entry in entries {
            unsafe entry.visit = 0
            if unsafe entry.deadline == .max { continue }
            if unsafe entry.deadline / TimerWheel.tick < target {
                unsafe entry.deadline = .max
                unsafe entry.isDue = true
                due.append(entry)
            } else {
                link(entry)
            }
        }
    }

    private mutating func link(_ entry: TimerEntry) {
        // Rounded up, so that it never fires early.
        let turn = unsafe max(entry.deadline / TimerWheel.tick + 1, current + 1)
        unsafe entry.isDistant = turn >= current + UInt64(TimerWheel.bucketCount)
        if unsafe entry.isDistant {
            // Half a turn before the entry is due, so that the list is scanned at most twice per turn.
            unsafe entry.visit = turn - UInt64(TimerWheel.bucketCount / 2)
            unsafe entry.position = distant.count
            distant.append(entry)
            distantVisit = unsafe min(distantVisit, entry.visit)
            return
        }
        unsafe entry.visit = turn
        let index = unsafe Int(entry.visit % UInt64(TimerWheel.bucketCount))
        unsafe entry.position = buckets[index].count
        buckets[index].append(entry)
        entryCount += 1
    }

    private mutating func unlink(_ entry: TimerEntry) {
        guard unsafe entry.visit != 0 else { return }
        if unsafe entry.isDistant {
            let last = distant.removeLast()
            if last !== entry {
                unsafe distant[entry.position] = last
                unsafe last.position = unsafe entry.position
            }
            unsafe entry.visit = 0
            if distant.isEmpty { distantVisit = .max }
            return
        }
        let index = unsafe Int(entry.visit % UInt64(TimerWheel.bucketCount))
        let last = buckets[index].removeLast()
        if last !== entry {
            unsafe buckets[index][entry.position] = last
            unsafe last.position = unsafe entry.position
        }
        unsafe entry.visit = 0
        entryCount -= 1
    }
}
