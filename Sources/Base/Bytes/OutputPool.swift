/// The spare output buffers of one event loop.
///
/// A connection holds a buffer only while it writes.
///
/// Not `Sendable`: it never leaves its loop.
public final class OutputPool {
    // SAFETY: one thread uses the pool, and no method calls out while it modifies the list.
    @exclusivity(unchecked) private var spare: [OutputBuffer] = []
    private let limit: Int

    /// Creates an empty pool that keeps at most `limit` spare buffers.
    public init(limit: Int = 64) {
        self.limit = limit
        unsafe spare.reserveCapacity(limit)
    }

    /// Returns an empty buffer, either a spare or a new one.
    public func take() -> OutputBuffer {
        unsafe spare.popLast() ?? OutputBuffer()
    }

    /// Returns a buffer to the pool and empties it.
    public func give(_ buffer: consuming OutputBuffer) {
        guard unsafe spare.count < limit else { return }
        buffer.removeAll()
        unsafe spare.append(buffer)
    }
}
