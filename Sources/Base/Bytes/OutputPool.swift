/// The spare output buffers of one event loop: a connection holds one only while it writes.
///
/// Not `Sendable`: it never leaves its loop.
public final class OutputPool {
    // SAFETY: one thread, and no method calls out while it changes the list.
    @exclusivity(unchecked) private var spare: [OutputBuffer] = []
    private let limit: Int

    /// Makes an empty pool that keeps at most `limit` spare buffers.
    public init(limit: Int = 64) {
        self.limit = limit
        unsafe spare.reserveCapacity(limit)
    }

    /// Returns an empty buffer, spare or new.
    public func take() -> OutputBuffer {
        unsafe spare.popLast() ?? OutputBuffer()
    }

    /// Takes a buffer back, and empties it.
    public func give(_ buffer: consuming OutputBuffer) {
        guard unsafe spare.count < limit else { return }
        buffer.removeAll()
        unsafe spare.append(buffer)
    }
}
