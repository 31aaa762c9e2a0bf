/// The spare slabs of one event loop.
///
/// An idle connection returns its slab and holds no memory.
///
/// Not `Sendable`: it never leaves its loop.
public final class SlabPool {
    // SAFETY: one thread uses the pool, and no method calls out while it modifies the list.
    @exclusivity(unchecked) private var spare: [Slab] = []
    @exclusivity(unchecked) private var largeSpare: [Slab] = []
    private let limit: Int
    private let largeLimit = 16

    /// Creates an empty pool that keeps at most `limit` spare slabs (default 64, which is 1 MiB).
    public init(limit: Int = 64) {
        self.limit = limit
        unsafe spare.reserveCapacity(limit)
    }

    /// Returns a slab of the standard capacity, either a spare or a new one.
    public func take() -> Slab {
        unsafe spare.popLast() ?? Slab.make()
    }

    /// Returns a slab of at least the given capacity, either a spare or a new one.
    func take(atLeast capacity: Int) -> Slab {
        if capacity <= Slab.standardCapacity { return take() }
        guard capacity <= Slab.largeCapacity else { return Slab.make(capacity: capacity) }
        return unsafe largeSpare.popLast() ?? Slab.make(capacity: Slab.largeCapacity)
    }

    /// Returns a slab to the pool, unless a slice shares it, it has another size, or the pool is full.
    func give(_ slab: consuming Slab) {
        switch slab.size {
        case Slab.standardCapacity:
            guard unsafe spare.count < limit, isKnownUniquelyReferenced(&slab) else { return }
            unsafe spare.append(slab)
        case Slab.largeCapacity:
            guard unsafe largeSpare.count < largeLimit, isKnownUniquelyReferenced(&slab) else {
                return
            }
            unsafe largeSpare.append(slab)
        default: break
        }
    }
}
