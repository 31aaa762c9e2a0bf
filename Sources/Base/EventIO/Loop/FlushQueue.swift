/// An object with output to flush at the end of the loop's turn.
open class FlushEntry: TimerEntry {
    /// Called on the loop once for each time that the entry was queued.
    open func flush() {}
}

/// The entries to flush at the end of the loop's turn, in order.
// SAFETY: each entry is retained while it is queued, and released after its flush.
@safe struct FlushQueue {
    /// More entries would need another slab of buffers, and would delay the first one.
    static let limit = 32

    private var entries: [Unmanaged<FlushEntry>] = unsafe []
    private var next = 0
    /// Whether entries are being flushed; entries added now are also flushed.
    private(set) var isFlushing = false

    /// The number of entries.
    var count: Int { unsafe entries.count }

    /// Adds an entry; returns whether to flush immediately because the queue is full.
    mutating func add(_ entry: FlushEntry) -> Bool {
        unsafe entries.append(.passRetained(entry))
        return count >= FlushQueue.limit && !isFlushing
    }

    /// Adds an entry that is the last work of the turn; returns whether to flush immediately.
    ///
    /// The peer should not wait for our log line.
    mutating func addLast(_ entry: FlushEntry) -> Bool { add(entry) || !isFlushing }

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
