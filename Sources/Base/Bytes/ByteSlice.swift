// SAFETY of `@unchecked Sendable`: the bytes of a slice are never modified.
/// A range of a slab's bytes.
///
/// It keeps the slab alive, so content moves without a copy.
public struct ByteSlice: @unchecked Sendable {
    @usableFromInline let slab: Slab
    @usableFromInline let start: Int
    /// The number of bytes.
    public let count: Int

    @inlinable init(slab: Slab, start: Int, count: Int) {
        self.slab = slab
        self.start = start
        self.count = count
    }

    /// Copies bytes into a new slab.
    public init(_ bytes: [UInt8]) {
        let slab = Slab.make(capacity: max(bytes.count, 1))
        // SAFETY: the slab is new, unshared, and holds at least `bytes.count` bytes.
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress {
                unsafe slab.memory.copyMemory(from: base, byteCount: source.count)
            }
        }
        self.init(slab: slab, start: 0, count: bytes.count)
    }

    /// Copies bytes into a new slab.
    package init(_ bytes: Span<UInt8>) {
        let slab = Slab.make(capacity: max(bytes.count, 1))
        // SAFETY: the slab is new, unshared, and holds at least `bytes.count` bytes.
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress {
                unsafe slab.memory.copyMemory(from: base, byteCount: source.count)
            }
        }
        self.init(slab: slab, start: 0, count: bytes.count)
    }

    /// Lets a closure write bytes into a new slab.
    ///
    /// - Parameters:
    ///   - capacity: the maximum number of bytes.
    ///   - write: writes at most the given number of bytes to the address, and returns the number written.
    /// - Throws: the error of `write`.
    package init<Failure>(
        upTo capacity: Int,
        _ write: (UnsafeMutablePointer<UInt8>, Int) throws(Failure) -> Int
    ) throws(Failure) {
        let slab = Slab.make(capacity: max(capacity, 1))
        // SAFETY: the slab is new, unshared, and holds at least `capacity` bytes.
        let count = try unsafe write(slab.memory.assumingMemoryBound(to: UInt8.self), capacity)
        self.init(slab: slab, start: 0, count: min(count, capacity))
    }

    /// Copies a text, as UTF-8, into a new slab.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Whether the slice has no bytes.
    @inlinable public var isEmpty: Bool { count == 0 }

    /// The bytes, borrowed while the slice lives.
    @inlinable public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // SAFETY: the slab outlives `self`, and the range was checked when the slice was made.
            let pointer = unsafe UnsafePointer(
                (slab.memory + start).assumingMemoryBound(to: UInt8.self)
            )
            let span = unsafe Span(_unsafeStart: pointer, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Returns the first `length` bytes, or all bytes if there are fewer.
    public func prefix(_ length: Int) -> ByteSlice {
        ByteSlice(slab: slab, start: start, count: min(max(length, 0), count))
    }

    /// Returns all but the first `length` bytes.
    public func dropFirst(_ length: Int) -> ByteSlice {
        let dropped = min(max(length, 0), count)
        return ByteSlice(slab: slab, start: start + dropped, count: count - dropped)
    }

    /// A copy of the bytes.
    public var array: [UInt8] {
        // SAFETY: as in `span`.
        unsafe [UInt8](UnsafeRawBufferPointer(start: slab.memory + start, count: count))
    }

    /// The address of the first byte, for a system call on the next line.
    package var unsafeAddress: UnsafeRawPointer { unsafe UnsafeRawPointer(slab.memory + start) }
}

extension ByteSlice: Equatable {
    /// Whether both slices contain the same bytes.
    public static func == (left: ByteSlice, right: ByteSlice) -> Bool {
        guard left.count == right.count else { return false }
        let (first, second) = (left.span, right.span)
        for index in first.indices where first[index] != second[index] { return false }
        return true
    }
}
