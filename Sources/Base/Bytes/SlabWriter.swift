/// Collects pieces in one slab, which becomes a slice without another copy.
// SAFETY: the writer owns the slab until `finish()` returns it; afterward the slab is not modified.
@safe package struct SlabWriter: ~Copyable {
    private var slab: Slab
    /// The number of bytes written.
    package private(set) var count = 0

    /// Reserves space for the expected number of bytes; the slab grows if there are more.
    package init(expecting capacity: Int, atLeast least: Int = Slab.standardCapacity) {
        slab = Slab.make(capacity: max(capacity, least))
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

    /// Returns all bytes as one slice.
    package consuming func finish() -> ByteSlice { ByteSlice(slab: slab, start: 0, count: count) }
}
