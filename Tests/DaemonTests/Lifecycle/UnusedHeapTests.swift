import Testing

@testable import NetproxyService

/// When a loop returns memory to the system.
@Suite struct UnusedHeapTests {
    @Test func `after a burst memory is returned`() {
        var heap = UnusedHeap()
        for count in 1...200 { heap.began(count) }
        let dues = (0..<200).reversed().map { heap.ended(leaving: $0) }
        // Once; the timer is set then.
        #expect(dues.count { $0 } == 1 && dues[63])
        heap.trimmed()
        heap.began(1)
        let isDue = heap.ended(leaving: 0)
        #expect(!isDue)
    }

    @Test func `connections that follow one another use the same memory`() {
        var heap = UnusedHeap()
        for _ in 0..<10_000 {
            heap.began(1)
            let isDue = heap.ended(leaving: 0)
            #expect(!isDue)
        }
    }

    @Test func `many parked connections have their tasks' memory returned`() {
        var heap = UnusedHeap()
        let dues = (0..<128).map { _ in heap.parked() }
        #expect(dues.count { $0 } == 1 && dues[63])
    }

    @Test func `a second burst counts from its own peak`() {
        var heap = UnusedHeap()
        for _ in 0..<2 {
            for count in 1...100 { heap.began(count) }
            let dues = (0..<100).reversed().map { heap.ended(leaving: $0) }
            #expect(dues.count { $0 } == 1)
            heap.trimmed()
        }
    }
}
