import Testing

@testable import NetproxyBytes

@Suite struct SlabWriterTests {
    @Test(arguments: [0, 1, 100_000])
    func `pieces become one slice, regardless of the expected size`(expected: Int) {
        var writer = SlabWriter(expecting: expected)
        var all: [UInt8] = []
        for number in 0..<50 {
            let piece = [UInt8](repeating: UInt8(number), count: number * 97)
            writer.append(piece.span)
            all += piece
            #expect(writer.count == all.count)
        }
        #expect(writer.finish().array == all)
    }

    @Test func `an empty writer returns an empty slice`() {
        #expect(SlabWriter(expecting: 10).finish().isEmpty)
    }
}
