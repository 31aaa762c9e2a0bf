/// The spare slabs of one event loop: an idle connection gives its slab back and holds no memory.
///
/// Not `Sendable`: it never leaves its loop.
public final class SlabPool {
    private var spare: [Slab] = []
    private let limit: Int

    /// Makes an empty pool that keeps at most `limit` spare slabs (default 64, which is 1 MiB).
    public init(limit: Int = 64) {
        self.limit = limit
        spare.reserveCapacity(limit)
    }

    /// A slab of the standard capacity, spare or new.
    public func take() -> Slab {
        spare.popLast() ?? Slab()
    }

    /// Takes a slab back, unless it is shared with a slice, of another size, or one too many.
    func give(_ slab: consuming Slab) {
        guard slab.capacity == Slab.standardCapacity, spare.count < limit,
            isKnownUniquelyReferenced(&slab)
        else { return }
        spare.append(slab)
    }
}
