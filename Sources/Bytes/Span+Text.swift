extension Span<UInt8> {
    /// The text of some bytes known to be ASCII.
    public func string(in range: Range<Int>) -> String {
        let part = extracting(range)
        // SAFETY: the span is borrowed for the copy; invalid UTF-8 is replaced, never trusted.
        return unsafe part.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// An array with the same bytes.
    public var array: [UInt8] {
        // SAFETY: the span is borrowed for the copy.
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Where a byte stands first, at or behind `start`.
    public func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        var index = start
        let end = count
        while index < end {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }
}

extension [UInt8] {
    /// Appends the bytes of a span.
    @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>) {
        // SAFETY: the span is borrowed for the copy.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// The text of some of the bytes, which are known to be ASCII.
    public func string(in range: Range<Int>) -> String {
        String(decoding: self[range], as: UTF8.self)
    }
}
