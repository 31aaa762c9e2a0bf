/// Puts pieces together in one slab, which becomes a slice without another copy.
// SAFETY: the slab is the writer's own until `finish()` hands it out, after which nothing is written to it.
@safe package struct SlabWriter: ~Copyable {
    private var slab: Slab
    /// How many bytes there are.
    package private(set) var count = 0

    /// Makes room for as many bytes as will probably come; more make it grow.
    package init(expecting capacity: Int) {
        slab = Slab.make(capacity: max(capacity, Slab.standardCapacity))
    }

    /// Adds bytes at the end.
    package mutating func append(_ bytes: Span<UInt8>) {
        let needed = count + bytes.count
        if needed > slab.size {
            let larger = Slab.make(capacity: max(needed, slab.size * 2))
            unsafe larger.memory.copyMemory(from: slab.memory, byteCount: count)
            slab = larger
        }
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress {
                unsafe (slab.memory + count).copyMemory(from: base, byteCount: source.count)
            }
        }
        count = needed
    }

    /// All bytes as one slice.
    package consuming func finish() -> ByteSlice { ByteSlice(slab: slab, start: 0, count: count) }
}
