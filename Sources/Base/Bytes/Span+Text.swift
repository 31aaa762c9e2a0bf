import Glibc

extension Span<UInt8> {
    /// Decodes a range as UTF-8; invalid bytes become U+FFFD.
    package func string(in range: Range<Int>) -> String {
        let part = extracting(range)
        // SAFETY: the span is borrowed for the copy; invalid UTF-8 is replaced, never trusted.
        return unsafe part.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// A copy of the bytes.
    package var array: [UInt8] {
        // SAFETY: the span is borrowed for the copy.
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Returns the index of the first control byte (0x00...0x1F, 0x7F) in a range, or the range's
    /// upper bound.
    ///
    /// Examines eight bytes at a time.
    package func firstControl(in range: Range<Int>) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "range of the span")
        // SAFETY: the span is borrowed for the scan; every load ends within the checked range.
        return unsafe withUnsafeBytes { bytes in
            let ones: UInt64 = 0x0101_0101_0101_0101
            let end = range.upperBound
            var index = range.lowerBound
            while index &+ 8 <= end {
                let word = unsafe UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                )
                let deletes = word ^ (ones &* 0x7F)
                // The lowest flag of each term is exact; a borrow can only set flags above it.
                let flags =
                    ((word &- ones &* 0x20) & ~word | (deletes &- ones) & ~deletes)
                    & (ones &* 0x80)
                if flags != 0 { return index &+ flags.trailingZeroBitCount / 8 }
                index &+= 8
            }
            while index < end {
                let byte = unsafe bytes[index]
                if byte < 0x20 || byte == 0x7F { return index }
                index &+= 1
            }
            return end
        }
    }

    /// Whether all bytes are visible ASCII (0x21...0x7E) and differ from `excluded`.
    ///
    /// Examines eight bytes at a time.
    package func isVisible(without excluded: UInt8) -> Bool {
        // SAFETY: the span is borrowed for the scan; every load ends within it.
        unsafe withUnsafeBytes { bytes in
            let ones: UInt64 = 0x0101_0101_0101_0101
            var index = 0
            while index &+ 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let deletes = word ^ (ones &* 0x7F)
                let others = word ^ (ones &* UInt64(excluded))
                // A borrow can only set flags above one that is already set.
                let flags =
                    word | (word &- ones &* 0x21) & ~word | (deletes &- ones) & ~deletes
                    | (others &- ones) & ~others
                if flags & (ones &* 0x80) != 0 { return false }
                index &+= 8
            }
            while index < bytes.count {
                let byte = unsafe bytes[index]
                if byte &- 0x21 >= 0x5E || byte == excluded { return false }
                index &+= 1
            }
            return true
        }
    }

    /// Returns the index of the first byte at or after `start` that a JSON string must escape (RFC 8259 §7),
    /// that is DEL, or that is not ASCII.
    ///
    /// If there is none, returns the end.
    ///
    /// Examines eight bytes at a time.
    package func firstUnquotable(from start: Int) -> Int {
        precondition(start >= 0 && start <= count, "start within the span")
        // SAFETY: the span is borrowed for the scan; every load ends within it.
        return unsafe withUnsafeBytes { bytes in
            let ones: UInt64 = 0x0101_0101_0101_0101
            let end = bytes.count
            var index = start
            while index &+ 8 <= end {
                let word = unsafe UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                )
                let deletes = word ^ (ones &* 0x7F)
                let quotes = word ^ (ones &* 0x22)
                let slashes = word ^ (ones &* 0x5C)
                // The lowest flag of each term is exact; a borrow can only set flags above it.
                let flags =
                    (word | (word &- ones &* 0x20) & ~word | (deletes &- ones) & ~deletes
                        | (quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes)
                    & (ones &* 0x80)
                if flags != 0 { return index &+ flags.trailingZeroBitCount / 8 }
                index &+= 8
            }
            while index < end {
                let byte = unsafe bytes[index]
                // One comparison checks both ends of 0x20...0x7e.
                if byte &- 0x20 >= 0x5f || byte == 0x22 || byte == 0x5c { break }
                index &+= 1
            }
            return index
        }
    }

    /// Returns the first index of a byte at or after `start`.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        precondition(start >= 0 && start <= count, "start within the span")
        // SAFETY: the span is borrowed for the scan, which stays within it.
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count,
                let found = unsafe memchr(base + start, Int32(byte), bytes.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - base
        }
    }

    /// Whether both spans contain the same bytes.
    package func isSame(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        // SAFETY: both spans are borrowed and have the same length.
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                guard let left = bytes.baseAddress, let right = other.baseAddress else {
                    return true
                }
                return unsafe memcmp(left, right, bytes.count) == 0
            }
        }
    }

    /// Whether a range equals a lowercase text of letters, digits and hyphens, ignoring case.
    ///
    /// The range must not contain control bytes other than HTAB.
    @inline(__always)
    package func equals(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "range of the span")
        // SAFETY: both are borrowed, and have at least that many bytes.
        return unsafe withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe isSameFolded(start + range.lowerBound, text.utf8Start, range.count)
        }
    }

    /// Whether the bytes equal a lowercase name of letters, digits and hyphens, ignoring case.
    ///
    /// The bytes must not contain control bytes other than HTAB.
    @inline(__always)
    package func isToken(named name: Span<UInt8>) -> Bool {
        guard count == name.count else { return false }
        // SAFETY: both spans are borrowed and have the same length.
        return unsafe withUnsafeBytes { bytes in
            unsafe name.withUnsafeBytes { name in
                guard let left = bytes.baseAddress, let right = name.baseAddress else {
                    return true
                }
                return unsafe isSameFolded(left, right, bytes.count)
            }
        }
    }
}

/// Whether bytes equal a name after bit 5 of each byte is set.
///
/// Setting it converts an uppercase letter to lowercase. Of the other bytes, it turns only 0x10...0x19 into
/// digits and CR into a hyphen.
///
/// Compares eight or four bytes at a time; the last comparison overlaps the previous one.
private func isSameFolded(
    _ bytes: UnsafeRawPointer,
    _ name: UnsafeRawPointer,
    _ count: Int
) -> Bool {
    // SAFETY: the callers guarantee `count` bytes at both addresses; every load ends within them.
    func isSame<Word: FixedWidthInteger>(_ type: Word.Type, _ index: Int) -> Bool {
        let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: Word.self)
        let other = unsafe name.loadUnaligned(fromByteOffset: index, as: Word.self)
        return word | Word(truncatingIfNeeded: 0x2020_2020_2020_2020 as UInt64) == other
    }
    if count >= 8 {
        var index = 0
        while index &+ 8 < count {
            if !isSame(UInt64.self, index) { return false }
            index &+= 8
        }
        return isSame(UInt64.self, count &- 8)
    }
    if count >= 4 { return isSame(UInt32.self, 0) && isSame(UInt32.self, count &- 4) }
    for index in 0..<count where !isSame(UInt8.self, index) { return false }
    return true
}

extension String {
    /// Creates a string from bytes that should be ASCII; invalid UTF-8 is replaced, never trusted.
    package init(ascii bytes: Span<UInt8>) {
        // SAFETY: the capacity equals the number of copied bytes, and the standard library validates them.
        self = unsafe String(unsafeUninitializedCapacity: bytes.count) { text in
            unsafe bytes.withUnsafeBufferPointer { unsafe text.initialize(fromContentsOf: $0) }
        }
    }

    /// Whether a byte after the first `mark` can satisfy `isWanted`; exact for a native string.
    @inline(__always)
    package func hasByte(after mark: UInt8, where isWanted: (UInt8) -> Bool) -> Bool {
        // SAFETY: the storage is borrowed for the search. A string's span would cost a call into the standard
        // library.
        let found = unsafe utf8.withContiguousStorageIfAvailable { text -> Bool in
            guard let start = text.baseAddress,
                let place = unsafe memchr(start, Int32(mark), text.count)
            else { return false }
            var index = unsafe UnsafeRawPointer(place) - UnsafeRawPointer(start) + 1
            while index < text.count {
                if unsafe isWanted(text[index]) { return true }
                index += 1
            }
            return false
        }
        return found ?? true
    }
}

extension [UInt8] {
    /// Appends the bytes of a span.
    @inline(__always)
    package mutating func append(_ bytes: Span<UInt8>) {
        // SAFETY: the span is borrowed for the copy.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Decodes a range as UTF-8; invalid bytes become U+FFFD.
    package func string(in range: Range<Int>) -> String {
        String(decoding: self[range], as: UTF8.self)
    }
}

extension Span<UInt8> {
    /// Whether the bytes equal a text, including case.
    package func isExactly(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && begins(with: text, first: count)
    }

    /// Whether the first `count` bytes equal the first bytes of a text.
    package func begins(with text: StaticString, first count: Int) -> Bool {
        guard count <= self.count, count <= text.utf8CodeUnitCount else { return false }
        // SAFETY: the bytes of a static string live forever, and the index is within them.
        for index in 0..<count where unsafe self[index] != text.utf8Start[index] { return false }
        return true
    }
}

extension Span<UInt8> {
    /// Creates a span of the bytes of a literal, which live forever.
    @_lifetime(immortal)
    package init(of text: StaticString) {
        // SAFETY: the bytes of a static string live forever.
        let bytes = unsafe Span<UInt8>(
            _unsafeStart: text.utf8Start,
            count: text.utf8CodeUnitCount
        )
        self = unsafe _overrideLifetime(bytes, copying: ())
    }

    /// Returns a hash of the length, the first bytes and the last ones, combined with another hash.
    ///
    /// The hash has no key, so a peer can produce collisions. An equal hash only selects a candidate; the
    /// bytes decide.
    package func hash(from seed: UInt64) -> UInt64 {
        var hash = (seed ^ UInt64(count)) &* 0x9E37_79B9_7F4A_7C15
        unsafe withUnsafeBytes { bytes in
            let count = bytes.count
            func mix(_ word: UInt64) {
                hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
                hash ^= hash >> 32
            }
            guard count >= 8 else {
                for index in 0..<count { mix(UInt64(unsafe bytes[index])) }
                return
            }
            // SAFETY: each offset is followed by at least eight bytes.
            mix(unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
            mix(unsafe bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
            guard count >= 16 else { return }
            mix(unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            mix(unsafe bytes.loadUnaligned(fromByteOffset: count - 16, as: UInt64.self))
            guard count >= 32 else { return }
            mix(unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
            mix(unsafe bytes.loadUnaligned(fromByteOffset: count - 24, as: UInt64.self))
        }
        hash ^= hash >> 29
        return hash
    }
}
