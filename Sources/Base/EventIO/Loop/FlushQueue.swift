/// Something that has output to flush when the loop's turn ends.
open class FlushEntry: TimerEntry {
    /// Called on the loop, once for each time that the entry was queued.
    open func flush() {}
}

/// The entries to flush at the end of the loop's turn, in their order.
// SAFETY: each entry is retained while it is queued, and released after its flush.
@safe struct FlushQueue {
    /// More would need another slab of buffers, and would keep the first entry waiting.
    static let limit = 32

    private var entries: [Unmanaged<FlushEntry>] = unsafe []
    private var next = 0
    /// Whether entries are being flushed; those that join are flushed, too.
    private(set) var isFlushing = false

    /// How many entries there are.
    var count: Int { unsafe entries.count }

    /// Adds an entry, and returns whether to flush at once.
    ///
    /// That is so if it is the last work of the loop's turn: the peer should not wait for our log line.
    mutating func add(_ entry: FlushEntry, isLast: Bool) -> Bool {
        unsafe entries.append(.passRetained(entry))
        return (isLast || count >= FlushQueue.limit) && !isFlushing
    }

    /// Returns the next entry to flush, for the caller to release; `nil` ends the flushing.
    @inline(__always)
    mutating func takeNext() -> Unmanaged<FlushEntry>? {
        guard unsafe next < entries.count else {
            unsafe entries.removeAll(keepingCapacity: true)
            (next, isFlushing) = (0, false)
            return nil
        }
        isFlushing = true
        defer { next += 1 }
        return unsafe entries[next]
    }
}
