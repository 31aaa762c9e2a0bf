/// The most recent lines in a fixed amount of memory.
///
/// A new line replaces the oldest ones.
///
/// Lines are numbered in order. Not `Sendable`: the ring belongs to one loop.
@safe public final class LineRing {
    private struct StoredLine {
        var number = -1
        var start = 0
        var count = 0
        /// The number of bytes written to the ring before this line.
        var position = 0
    }

    /// The maximum number of lines.
    public let lineLimit: Int
    /// The maximum total size of the lines, in bytes.
    public let byteLimit: Int
    /// The number of the next line.
    public var nextNumber: Int { unsafe number }

    private let memory: UnsafeMutableRawPointer
    // SAFETY: one loop uses the ring, and no method calls out while it modifies these variables.
    @exclusivity(unchecked) private var number = 0
    @exclusivity(unchecked) private var entries: [StoredLine]
    @exclusivity(unchecked) private var start = 0
    @exclusivity(unchecked) private var position = 0

    /// Creates an empty ring and allocates its memory.
    ///
    /// - Parameters:
    ///   - lines: the maximum number of lines.
    ///   - bytes: the maximum total size of the lines.
    public init(lines: Int, bytes: Int) {
        lineLimit = lines
        byteLimit = bytes
        unsafe entries = Array(repeating: StoredLine(), count: lines)
        unsafe memory = .allocate(byteCount: bytes, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// Stores a copy of a line and returns its number.
    ///
    /// A line that would occupy more than a quarter of the memory is stored empty, because it would displace
    /// too many others.
    @discardableResult
    public func append(_ line: Span<UInt8>) -> Int {
        let count = line.count <= byteLimit / 4 ? line.count : 0
        if unsafe start + count > byteLimit {
            unsafe position += byteLimit - start
            unsafe start = 0
        }
        // SAFETY: the code above ensures that `start + count` is within the memory.
        unsafe line.extracting(0..<count).withUnsafeBytes { source in
            guard count > 0, let base = source.baseAddress else { return }
            unsafe (memory + start).copyMemory(from: base, byteCount: count)
        }
        let number = nextNumber
        unsafe entries[number % lineLimit] = unsafe StoredLine(
            number: number,
            start: start,
            count: count,
            position: position
        )
        unsafe self.number += 1
        unsafe start += count
        unsafe position += count
        return number
    }

    /// The numbers of the lines that can still be in the ring; the bytes of older lines can be overwritten.
    public var numbers: Range<Int> { max(0, nextNumber - lineLimit)..<nextNumber }

    /// Calls `body` with a line; returns `nil` if the line is no longer in the ring.
    public func withLine<Result>(
        _ number: Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        guard numbers.contains(number) else { return nil }
        let entry = unsafe entries[number % lineLimit]
        guard entry.count > 0, unsafe entry.position + byteLimit >= position else { return nil }
        // SAFETY: the memory lives as long as `self`, and is not modified during the call.
        return withExtendedLifetime(self) {
            let bytes = unsafe UnsafeRawBufferPointer(
                start: memory + entry.start,
                count: entry.count
            )
            return unsafe bytes.withMemoryRebound(to: UInt8.self) { unsafe body($0.span) }
        }
    }
}
