/// Decides when a loop returns memory to the system, which walks the whole heap.
///
/// A burst leaves much of it unused: 4000 connections that were read and written slowly grew the process
/// from 31 to 315 MB, and it stayed at that. What counts is how many connections are fewer than at the
/// peak: one after the other, however many, they use the same memory again.
struct UnusedHeap {
    /// How many connections have to be parked, or fewer than at the peak.
    static let threshold = 64

    private var parkedCount = 0
    private var peak = 0
    private var isDue = false

    /// A connection began, and there are `count` now.
    mutating func began(_ count: Int) { peak = max(peak, count) }

    /// A connection was parked, and the memory of its task is unused.
    ///
    /// - Returns: whether to return memory a little later.
    mutating func parked() -> Bool {
        parkedCount += 1
        return parkedCount >= UnusedHeap.threshold && becomeDue()
    }

    /// A connection ended, and there are `count` left.
    ///
    /// - Returns: whether to return memory a little later.
    mutating func ended(leaving count: Int) -> Bool {
        guard peak - count >= UnusedHeap.threshold else { return false }
        peak = count
        return becomeDue()
    }

    /// Memory was returned.
    mutating func trimmed() { (parkedCount, isDue) = (0, false) }

    private mutating func becomeDue() -> Bool {
        defer { isDue = true }
        return !isDue
    }
}
