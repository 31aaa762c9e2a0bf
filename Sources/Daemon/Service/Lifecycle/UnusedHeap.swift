/// Decides when a loop returns memory to the system, which walks the whole heap.
///
/// A burst leaves much memory unused: 4000 connections with slow reads and writes grew the process from 31 to
/// 315 MB, and it stayed there. The decision depends on the decrease of connections since the peak:
/// consecutive connections, in any number, use the same memory again.
struct UnusedHeap {
    /// The minimum number of parked connections, or of ended connections since the peak.
    static let threshold = 64

    private var parkedCount = 0
    private var peak = 0
    private var isDue = false

    /// Records a new connection; `count` connections now exist.
    mutating func began(_ count: Int) { peak = max(peak, count) }

    /// Records a parked connection, whose task's memory is unused.
    ///
    /// - Returns: whether to return memory a little later.
    mutating func parked() -> Bool {
        parkedCount += 1
        return parkedCount >= UnusedHeap.threshold && becomeDue()
    }

    /// Records an ended connection; `count` connections remain.
    ///
    /// - Returns: whether to return memory a little later.
    mutating func ended(leaving count: Int) -> Bool {
        guard peak - count >= UnusedHeap.threshold else { return false }
        peak = count
        return becomeDue()
    }

    /// Records that memory was returned.
    mutating func trimmed() { (parkedCount, isDue) = (0, false) }

    private mutating func becomeDue() -> Bool {
        defer { isDue = true }
        return !isDue
    }
}
