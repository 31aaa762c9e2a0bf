/// A growing, reusable buffer for outgoing bytes such as heads and log lines.
///
/// Not `Sendable`: it belongs to one connection or one loop.
@safe public final class OutputBuffer {
    // SAFETY: no method calls out while it modifies these variables, so accesses do not overlap. A check at
    // run time would cost more than the copies themselves.
    @usableFromInline @exclusivity(unchecked) var memory: UnsafeMutableRawPointer
    @usableFromInline @exclusivity(unchecked) var capacity: Int
    @usableFromInline @exclusivity(unchecked) var length = 0

    /// Allocates an empty buffer.
    public init(capacity: Int = 4096) {
        unsafe self.capacity = max(capacity, 64)
        unsafe memory = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// The number of bytes.
    @inlinable public var count: Int { unsafe length }
    /// Whether the buffer is empty.
    public var isEmpty: Bool { count == 0 }

    /// The bytes written so far.
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // SAFETY: the memory lives as long as `self`, and its first `count` bytes are initialized.
            let pointer = unsafe UnsafePointer(memory.assumingMemoryBound(to: UInt8.self))
            let span = unsafe Span(_unsafeStart: pointer, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Removes all bytes.
    ///
    /// The memory is kept unless it exceeds `limit` bytes.
    public func removeAll(keeping limit: Int = 64 * 1024) {
        unsafe length = 0
        guard unsafe capacity > limit else { return }
        unsafe memory.deallocate()
        unsafe capacity = 4096
        unsafe memory = .allocate(byteCount: capacity, alignment: 16)
    }

    /// Removes all bytes after the first `limit`.
    public func truncate(to limit: Int) {
        unsafe length = unsafe min(length, max(limit, 0))
    }

    /// Appends one byte.
    @inlinable
    @inline(__always)
    public func append(_ byte: UInt8) {
        if unsafe length == capacity { grow(by: 1) }
        // SAFETY: the line above ensures the space.
        unsafe memory.storeBytes(of: byte, toByteOffset: length, as: UInt8.self)
        unsafe length += 1
    }

    /// Appends bytes.
    @inline(__always)
    public func append(_ bytes: Span<UInt8>) {
        // SAFETY: the span is borrowed for the copy.
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Appends bytes.
    public func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Appends a literal.
    @inlinable
    @inline(__always)
    public func append(_ text: StaticString) {
        // SAFETY: the bytes of a static string live forever.
        unsafe append(
            UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        )
    }

    /// Appends a string as UTF-8; literals use the overload for `StaticString`.
    @_disfavoredOverload
    public func append(_ text: String) {
        // A string's span costs a call into the standard library; its storage does not.
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
            unsafe append(UnsafeRawBufferPointer($0))
        }
        if isDone == nil { append(text.utf8.span) }
    }

    /// Appends a number in decimal digits.
    public func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: value.magnitude)
    }

    /// Appends a number in decimal digits.
    ///
    /// Not generic: across modules a generic function would run unspecialized, at ten times the cost.
    public func append(decimal value: UInt) {
        if unsafe capacity - length < 20 { grow(by: 20) }
        // 10^20 exceeds every `UInt`.
        var digits = 1
        var bound: UInt = 10
        while digits < 20, value >= bound {
            digits += 1
            bound &*= 10
        }
        var rest = value
        var position = unsafe length + digits
        unsafe length = position
        repeat {
            position -= 1
            // SAFETY: the number has at most 20 digits, and the space for them is reserved above.
            unsafe memory.storeBytes(
                of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10),
                toByteOffset: position,
                as: UInt8.self
            )
            rest /= 10
        } while rest > 0
    }

    /// Appends a number in lowercase hexadecimal digits, without leading zeros.
    public func append(hexadecimal value: UInt64) {
        let digits = max(1, (64 - value.leadingZeroBitCount + 3) / 4)
        for digit in stride(from: digits - 1, through: 0, by: -1) {
            let nibble = UInt8((value >> (UInt64(digit) * 4)) & 15)
            append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }

    /// Converts the ASCII letters in a range to lowercase.
    package func lowercase(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "only bytes that it holds")
        let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self)
        // SAFETY: the range lies within the initialized bytes.
        for index in range where unsafe bytes[index] &- 0x41 < 26 { unsafe bytes[index] |= 0x20 }
    }

    /// The address of the first byte, for a system call on the next line.
    package var unsafeAddress: UnsafeRawPointer { unsafe UnsafeRawPointer(memory) }

    @inlinable
    @inline(__always)
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0, let base = bytes.baseAddress else { return }
        if unsafe capacity - length < bytes.count { grow(by: bytes.count) }
        // SAFETY: the line above ensures the space, and the source is not this buffer.
        unsafe (memory + length).copyMemory(from: base, byteCount: bytes.count)
        unsafe length += bytes.count
    }

    @usableFromInline
    @inline(never)
    func grow(by more: Int) {
        let next = unsafe max(capacity * 2, length + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: next, alignment: 16)
        unsafe larger.copyMemory(from: memory, byteCount: count)
        unsafe memory.deallocate()
        unsafe memory = larger
        unsafe capacity = next
    }
}
