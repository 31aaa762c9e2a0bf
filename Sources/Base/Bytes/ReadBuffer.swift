/// The bytes that were read from a connection and not yet consumed, contiguous.
///
/// It has a slab only while it holds bytes or is about to; `release(to:)` gives it back.
///
/// Not `Sendable`: it belongs to one connection.
@safe public final class ReadBuffer {
    // SAFETY: one task, and no method calls out while it changes one of these, so that no access
    // overlaps.
    @exclusivity(unchecked) private var slab: Slab?
    @exclusivity(unchecked) private var start = 0
    @exclusivity(unchecked) private var end = 0

    /// Makes an empty buffer without memory.
    public init() {}

    /// How many unread bytes it holds.
    public var count: Int { unsafe end - start }
    /// Whether there are no unread bytes.
    public var isEmpty: Bool { unsafe start == end }

    /// The unread bytes.
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let slab = unsafe slab else { return Span() }
            // SAFETY: the slab is kept by `self`; start...end lies within its capacity.
            let pointer = unsafe UnsafePointer(
                (slab.memory + start).assumingMemoryBound(to: UInt8.self)
            )
            let span = unsafe Span(_unsafeStart: pointer, count: end - start)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Lends the unread bytes to `body`.
    @inline(__always)
    public func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(span)
    }

    /// Forgets the first `length` unread bytes.
    public func consume(_ length: Int) {
        precondition(length >= 0 && length <= count, "only unread bytes can be consumed")
        unsafe start += length
        if unsafe start == end, unsafe slab != nil, isUnique { unsafe (start, end) = (0, 0) }
    }

    /// Takes the first `length` unread bytes out as a slice that shares the slab.
    public func take(_ length: Int) -> ByteSlice {
        precondition(length >= 0 && length <= count, "only unread bytes can be taken")
        guard let slab = unsafe slab else { return ByteSlice([]) }
        let slice = unsafe ByteSlice(slab: slab, start: start, count: length)
        unsafe start += length
        return slice
    }

    /// A range of the unread bytes as a slice that shares the slab; they stay unread.
    package func slice(_ range: Range<Int>) -> ByteSlice {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "only unread bytes")
        guard let slab = unsafe slab else { return ByteSlice([]) }
        return unsafe ByteSlice(slab: slab, start: start + range.lowerBound, count: range.count)
    }

    /// Takes the first `length` unread bytes out as a copy.
    public func copy(_ length: Int) -> ByteSlice {
        precondition(length >= 0 && length <= count, "only unread bytes can be taken")
        let copy = ByteSlice(span.extracting(first: length))
        consume(length)
        return copy
    }

    /// Makes room for at least `minimum` more bytes, without moving bytes that a slice shares.
    public func reserve(_ minimum: Int, from pool: SlabPool) {
        // Checked before `current` refers to it as well.
        let isUnique = isUnique
        guard let current = unsafe slab else {
            unsafe slab = pool.take(atLeast: minimum)
            unsafe (start, end) = (0, 0)
            return
        }
        if isEmpty, isUnique { unsafe (start, end) = (0, 0) }
        if unsafe current.size - end >= minimum { return }
        let kept = count
        let needed = kept + minimum
        if isUnique, current.size >= needed {
            // SAFETY: both ranges lie within the slab, which is not shared; copyMemory may overlap.
            unsafe current.memory.copyMemory(from: current.memory + start, byteCount: kept)
        } else {
            let next = pool.take(atLeast: needed)
            // SAFETY: `next` is unshared and holds at least `kept` bytes.
            unsafe next.memory.copyMemory(from: current.memory + start, byteCount: kept)
            unsafe slab = next
            pool.give(current)
        }
        unsafe (start, end) = (0, kept)
    }

    /// Gives the slab back to the pool, if no unread byte is left in it.
    public func release(to pool: SlabPool) {
        guard isEmpty, let slab = unsafe slab.take() else { return }
        unsafe (start, end) = (0, 0)
        pool.give(slab)
    }

    /// Appends bytes to the unread ones: for tests and for bytes that came another way.
    public func append(_ bytes: [UInt8], from pool: SlabPool) {
        reserve(bytes.count, from: pool)
        unsafe withFreeSpace { free in
            unsafe free.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// Lets `body` fill the free space after the unread bytes; it returns how many it wrote.
    @discardableResult
    @inline(__always)
    package func withFreeSpace<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        // SAFETY: the free space lies after every byte that a slice may share, and the slab stays:
        // `body` has no other way to reach this buffer.
        guard
            let free = unsafe slab.map({
                unsafe UnsafeMutableRawBufferPointer(
                    start: $0.memory + end,
                    count: $0.size - end
                )
            })
        else { return 0 }
        let written = try unsafe body(free)
        precondition(written >= 0 && written <= free.count, "wrote beyond the free space")
        unsafe end += written
        return written
    }

    private var isUnique: Bool { unsafe isKnownUniquelyReferenced(&slab) }

    /// Returns a new buffer with all unread bytes, and leaves this one empty.
    public func moved() -> ReadBuffer {
        let other = ReadBuffer()
        unsafe (other.slab, other.start, other.end) = unsafe (slab.take(), start, end)
        unsafe (start, end) = (0, 0)
        return other
    }
}
