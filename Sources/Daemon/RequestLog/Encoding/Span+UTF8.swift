extension Span<UInt8> {
    /// Returns the length of the well-formed UTF-8 sequence of a non-ASCII scalar at `index` (Unicode 16,
    /// table 3-7), or nil if it is not well-formed.
    func scalarLength(at index: Int) -> Int? {
        let length = Self.expectedLength(self[index])
        return length > 0 && wellFormedPrefix(at: index, of: length) == length ? length : nil
    }

    /// Whether U+0080 to U+009F is at `index`; U+009B begins a terminal command, like ESC [.
    func isC1Control(at index: Int) -> Bool {
        self[index] == 0xc2 && index + 1 < count && (0x80...0x9f).contains(self[index + 1])
    }

    /// Returns the length of the invalid part at `index`: the longest prefix of a well-formed sequence, at
    /// least one byte.
    func invalidLength(at index: Int) -> Int {
        Swift.max(1, wellFormedPrefix(at: index, of: Self.expectedLength(self[index])))
    }

    private static func expectedLength(_ first: UInt8) -> Int {
        switch first {
        case 0xc2...0xdf: 2
        case 0xe0...0xef: 3
        case 0xf0...0xf4: 4
        default: 0
        }
    }

    private func wellFormedPrefix(at index: Int, of length: Int) -> Int {
        var good = Swift.min(length, 1)
        while good < length, index + good < count {
            let byte = self[index + good]
            let allowed: ClosedRange<UInt8> =
                switch (good, self[index]) {
                case (1, 0xe0): 0xa0...0xbf
                case (1, 0xed): 0x80...0x9f
                case (1, 0xf0): 0x90...0xbf
                case (1, 0xf4): 0x80...0x8f
                default: 0x80...0xbf
                }
            guard allowed.contains(byte) else { break }
            good += 1
        }
        return good
    }
}
