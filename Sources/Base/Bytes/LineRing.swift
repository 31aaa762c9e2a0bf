/// The most recent lines, in a fixed amount of memory: a new line replaces the oldest ones.
///
/// Lines are numbered in order. Not `Sendable`: it belongs to one loop.
@safe public final class LineRing {
    private struct Entry {
        var number = -1
        var start = 0
        var count = 0
        /// How many bytes the ring had taken in all before the line.
        var position = 0
    }

    /// The most lines that are kept.
    public let lineLimit: Int
    /// The most bytes that the lines have together.
    public let byteLimit: Int
    /// The number of the next line.
    public var nextNumber: Int { unsafe number }

    private let memory: UnsafeMutableRawPointer
    // SAFETY: one loop, and no method calls out while it changes one of these.
    @exclusivity(unchecked) private var number = 0
    @exclusivity(unchecked) private var entries: [Entry]
    @exclusivity(unchecked) private var start = 0
    @exclusivity(unchecked) private var position = 0

    /// Makes an empty ring, and allocates its memory.
    ///
    /// - Parameters:
    ///   - lines: the most lines that are kept.
    ///   - bytes: the most bytes that the lines have together.
    public init(lines: Int, bytes: Int) {
        lineLimit = lines
        byteLimit = bytes
        unsafe entries = Array(repeating: Entry(), count: lines)
        unsafe memory = .allocate(byteCount: bytes, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// Keeps a copy of a line, and returns its number.
    ///
    /// A line that would take more than a quarter of the memory is kept empty: it would push out
    /// too many others.
    @discardableResult
    public func append(_ line: Span<UInt8>) -> Int {
        let count = line.count <= byteLimit / 4 ? line.count : 0
        if unsafe start + count > byteLimit {
            unsafe position += byteLimit - start
            unsafe start = 0
        }
        // SAFETY: `start + count` is within the memory, which the lines before made sure of.
        unsafe line.extracting(0..<count).withUnsafeBytes { source in
            guard count > 0, let base = source.baseAddress else { return }
            unsafe (memory + start).copyMemory(from: base, byteCount: count)
        }
        let number = nextNumber
        unsafe entries[number % lineLimit] = unsafe Entry(
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

    /// The numbers of the lines that may still be kept; the bytes of the older ones may be gone.
    public var numbers: Range<Int> { max(0, nextNumber - lineLimit)..<nextNumber }

    /// Calls `body` with a line, or returns `nil` if it is no longer kept.
    public func withLine<Result>(
        _ number: Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        guard numbers.contains(number) else { return nil }
        let entry = unsafe entries[number % lineLimit]
        guard entry.count > 0, unsafe entry.position + byteLimit >= position else { return nil }
        // SAFETY: the memory lives as long as `self`, and is not written during the call.
        return withExtendedLifetime(self) {
            let bytes = unsafe UnsafeRawBufferPointer(
                start: memory + entry.start,
                count: entry.count
            )
            return unsafe bytes.withMemoryRebound(to: UInt8.self) { unsafe body($0.span) }
        }
    }
}
