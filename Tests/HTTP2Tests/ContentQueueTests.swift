import NetproxyBytes
import Testing

@testable import NetproxyHTTP2

@Suite struct ContentQueueTests {
    private func piece(_ count: Int, _ byte: UInt8) -> ByteSlice {
        ByteSlice([UInt8](repeating: byte, count: count))
    }

    @Test(arguments: [
        [], [1], [5000], [1, 2, 3], [70_000, 1, 70_000, 2], [10, 40_000, 40_000, 9],
    ])
    func `the queue returns content in the order in which it was added`(lengths: [Int]) {
        let pieces = lengths.enumerated().map { piece($0.element, UInt8($0.offset)) }
        let bytes = pieces.flatMap(\.array)
        var queue = ContentQueue()
        for piece in pieces { queue.append(piece) }
        let (count, isEmpty) = (queue.count, queue.isEmpty)
        #expect(count == bytes.count && isEmpty == bytes.isEmpty)
        var taken: [UInt8] = []
        while let piece = queue.removeFirst() { taken += piece.array }
        #expect(taken == bytes)
        let left = queue.count
        #expect(left == 0)
        for piece in pieces { queue.append(piece) }
        let whole = queue.takeAll()
        let rest = queue.removeFirst()
        #expect(whole.array == bytes && rest == nil)
    }

    @Test func `short pieces after the first are joined`() {
        var queue = ContentQueue()
        for byte in 0..<100 as Range<UInt8> { queue.append(piece(10, byte)) }
        let first = queue.removeFirst()
        let second = queue.removeFirst()
        let third = queue.removeFirst()
        #expect(first?.count == 10 && second?.count == 990 && third == nil)
    }

    @Test func `removeAll drops the queued content`() {
        var queue = ContentQueue()
        for byte in 0..<3 as Range<UInt8> { queue.append(piece(50_000, byte)) }
        queue.removeAll()
        let (count, next) = (queue.count, queue.removeFirst())
        #expect(count == 0 && next == nil)
    }
}
