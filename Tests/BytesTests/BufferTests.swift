import NetproxyBytes
import Testing

@Suite struct ReadBufferTests {
    private let pool = SlabPool()

    @Test func `a buffer returns bytes in order`() {
        let buffer = ReadBuffer()
        buffer.append(Array("hello ".utf8), from: pool)
        buffer.append(Array("world".utf8), from: pool)
        buffer.consume(1)
        #expect(buffer.count == 10)
        #expect(buffer.span.string(in: 0..<10) == "ello world")
    }

    @Test func `a slice keeps its bytes while the buffer is reused`() {
        let buffer = ReadBuffer()
        buffer.append(Array("hello".utf8), from: pool)
        let slice = buffer.take(5)
        for _ in 0..<3 {
            buffer.append([UInt8](repeating: 0x78, count: Slab.standardCapacity - 1), from: pool)
            buffer.consume(buffer.count)
        }
        buffer.release(to: pool)
        #expect(slice == ByteSlice("hello"))
    }

    @Test func `unread bytes survive a reservation`() {
        let buffer = ReadBuffer()
        buffer.append([UInt8](repeating: 0x61, count: Slab.standardCapacity - 2), from: pool)
        let slice = buffer.take(Slab.standardCapacity - 4)
        buffer.append(Array("bcdef".utf8), from: pool)
        #expect(buffer.span.string(in: 0..<buffer.count) == "aabcdef")
        #expect(slice.count == Slab.standardCapacity - 4)
        buffer.append([UInt8](repeating: 0x67, count: 3 * Slab.standardCapacity), from: pool)
        #expect(buffer.span.string(in: 0..<8) == "aabcdefg")
        #expect(buffer.count == 7 + 3 * Slab.standardCapacity)
    }

    /// Returns the address of the unread bytes.
    private func place(_ buffer: ReadBuffer) -> UInt {
        // SAFETY: the address is compared, and nothing is read there.
        unsafe buffer.span.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }

    @Test func `unread bytes move to the start of a slab only if it is not shared`() {
        let buffer = ReadBuffer()
        let spent = Slab.standardCapacity - 10
        buffer.append([UInt8](repeating: 0x78, count: spent), from: pool)
        buffer.append(Array("0123456789".utf8), from: pool)
        let start = place(buffer)
        buffer.consume(spent)
        buffer.reserve(4096, from: pool)
        #expect(place(buffer) == start)
        #expect(buffer.span.string(in: 0..<buffer.count) == "0123456789")
    }

    @Test func `a released buffer is empty and reusable`() {
        let buffer = ReadBuffer()
        buffer.append([1, 2], from: pool)
        buffer.consume(2)
        buffer.release(to: pool)
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
        buffer.append([3], from: pool)
        #expect(buffer.span.array == [3])
    }
}

@Suite struct ByteSliceTests {
    @Test func `parts of a slice refer to the same bytes`() {
        let slice = ByteSlice("hello")
        #expect(slice.prefix(2) == ByteSlice("he"))
        #expect(slice.dropFirst(2).array == Array("llo".utf8))
        #expect(slice.prefix(9) == slice)
        #expect(slice.dropFirst(9).isEmpty)
        #expect(slice.prefix(-1).isEmpty)
        #expect(ByteSlice([]).isEmpty)
        #expect(slice != ByteSlice("hellO"))
    }
}

@Suite struct OutputBufferTests {
    private func text(_ output: OutputBuffer) -> String {
        output.span.string(in: 0..<output.count)
    }

    @Test func `bytes are appended in order beyond the initial capacity`() {
        let output = OutputBuffer(capacity: 64)
        output.append("literal ")
        output.append(String(repeating: "x", count: 100))
        output.append(0x20)
        output.append(Array("array".utf8))
        output.append(Array("span".utf8).span)
        #expect(text(output) == "literal \(String(repeating: "x", count: 100)) arrayspan")
    }

    @Test(arguments: [0, 7, 10, 99, 100, 65535, Int.max, -1, Int.min])
    func `numbers are formatted as by the standard library`(_ number: Int) {
        let output = OutputBuffer(capacity: 64)
        output.append(String(repeating: "x", count: 60))
        output.append(decimal: number)
        #expect(text(output).dropFirst(60) == "\(number)")
        guard number >= 0 else { return }
        output.removeAll()
        output.append(hexadecimal: UInt64(number))
        #expect(text(output) == String(number, radix: 16))
    }

    @Test(arguments: [0, 9, 10, 999_999, 9_999_999_999_999_999_999, UInt.max])
    func `numbers of all lengths are formatted correctly`(_ number: UInt) {
        let output = OutputBuffer(capacity: 64)
        output.append(String(repeating: "x", count: 50))
        output.append(decimal: number)
        #expect(text(output).dropFirst(50) == "\(number)")
    }

    @Test func `truncating and emptying discard the end`() {
        let output = OutputBuffer()
        output.append("hello")
        output.truncate(to: 4)
        #expect(text(output) == "hell")
        output.append([UInt8](repeating: 0x61, count: 100_000))
        output.removeAll()
        #expect(output.isEmpty)
        output.append("again")
        #expect(text(output) == "again")
    }
}
