/// The spare slabs of one event loop: an idle connection gives its slab back and holds no memory.
///
/// Not `Sendable`: it never leaves its loop.
public final class SlabPool {
    // SAFETY: one thread, and no method calls out while it changes the list.
    @exclusivity(unchecked) private var spare: [Slab] = []
    private let limit: Int

    /// Makes an empty pool that keeps at most `limit` spare slabs (default 64, which is 1 MiB).
    public init(limit: Int = 64) {
        self.limit = limit
        unsafe spare.reserveCapacity(limit)
    }

    /// A slab of the standard capacity, spare or new.
    public func take() -> Slab {
        unsafe spare.popLast() ?? Slab()
    }

    /// Takes a slab back, unless it is shared with a slice, of another size, or one too many.
    func give(_ slab: consuming Slab) {
        guard slab.capacity == Slab.standardCapacity, unsafe spare.count < limit,
            isKnownUniquelyReferenced(&slab)
        else { return }
        unsafe spare.append(slab)
    }
}
