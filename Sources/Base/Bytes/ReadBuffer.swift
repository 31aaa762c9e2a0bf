/// The contiguous bytes that were read from a connection and are not yet consumed.
///
/// The buffer has a slab only while it contains bytes or a read is about to begin; `release(to:)` returns the
/// slab.
///
/// Not `Sendable`: it belongs to one connection.
@safe public final class ReadBuffer {
    // SAFETY: one task uses the buffer, and no method calls out while it modifies these variables, so
    // accesses do not overlap.
    @exclusivity(unchecked) private var slab: Slab?
    @exclusivity(unchecked) private var start = 0
    @exclusivity(unchecked) private var end = 0

    /// Creates an empty buffer that has allocated no memory.
    public init() {}

    /// The number of unread bytes.
    public var count: Int { unsafe end - start }
    /// Whether the buffer has no unread bytes.
    public var isEmpty: Bool { unsafe start == end }

    /// The unread bytes.
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            guard let slab = unsafe slab else { return Span() }
            // SAFETY: `self` keeps the slab alive, and `start...end` lies within its capacity.
            let pointer = unsafe UnsafePointer(
                (slab.memory + start).assumingMemoryBound(to: UInt8.self)
            )
            let span = unsafe Span(_unsafeStart: pointer, count: end - start)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Calls `body` with the unread bytes.
    @inline(__always)
    public func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(span)
    }

    /// Discards the first `length` unread bytes.
    public func consume(_ length: Int) {
        precondition(length >= 0 && length <= count, "only unread bytes can be consumed")
        unsafe start += length
        if unsafe start == end, unsafe slab != nil, isUnique { unsafe (start, end) = (0, 0) }
    }

    /// Removes the first `length` unread bytes and returns them as a slice that shares the slab.
    public func take(_ length: Int) -> ByteSlice {
        precondition(length >= 0 && length <= count, "only unread bytes can be taken")
        guard let slab = unsafe slab else { return ByteSlice([]) }
        let slice = unsafe ByteSlice(slab: slab, start: start, count: length)
        unsafe start += length
        return slice
    }

    /// Returns a range of the unread bytes as a slice that shares the slab; the bytes stay unread.
    package func slice(_ range: Range<Int>) -> ByteSlice {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "only unread bytes")
        guard let slab = unsafe slab else { return ByteSlice([]) }
        return unsafe ByteSlice(slab: slab, start: start + range.lowerBound, count: range.count)
    }

    /// Removes the first `length` unread bytes and returns a copy.
    public func copy(_ length: Int) -> ByteSlice {
        precondition(length >= 0 && length <= count, "only unread bytes can be taken")
        let copy = ByteSlice(span.extracting(first: length))
        consume(length)
        return copy
    }

    /// Ensures space for at least `minimum` more bytes, without moving bytes that a slice shares.
    public func reserve(_ minimum: Int, from pool: SlabPool) {
        // Evaluated before `current` adds a second reference.
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
            // SAFETY: both ranges lie within the slab, which is unshared; `copyMemory` allows overlap.
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

    /// Returns the slab to the pool if it contains no unread bytes.
    public func release(to pool: SlabPool) {
        guard isEmpty, let slab = unsafe slab.take() else { return }
        unsafe (start, end) = (0, 0)
        pool.give(slab)
    }

    /// Appends bytes to the unread ones, for tests and for bytes from another source.
    public func append(_ bytes: [UInt8], from pool: SlabPool) {
        reserve(bytes.count, from: pool)
        unsafe withFreeSpace { free in
            unsafe free.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// Lets `body` write into the free space after the unread bytes; `body` returns the number of bytes
    /// written.
    @discardableResult
    @inline(__always)
    package func withFreeSpace<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        // SAFETY: the free space begins after every byte that a slice can share. The slab stays, because
        // `body` cannot reach this buffer in another way.
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

    /// Moves all unread bytes to a new buffer, which is returned; this buffer becomes empty.
    public func moved() -> ReadBuffer {
        let other = ReadBuffer()
        unsafe (other.slab, other.start, other.end) = unsafe (slab.take(), start, end)
        unsafe (start, end) = (0, 0)
        return other
    }
}
