import Testing

@testable import NetproxyService

/// The times at which a loop returns memory to the system.
@Suite struct UnusedHeapTests {
    @Test func `memory is returned after a burst`() {
        var heap = UnusedHeap()
        for count in 1...200 { heap.began(count) }
        let dues = (0..<200).reversed().map { heap.ended(leaving: $0) }
        // Only once; then the timer is set.
        #expect(dues.count { $0 } == 1 && dues[63])
        heap.trimmed()
        heap.began(1)
        let isDue = heap.ended(leaving: 0)
        #expect(!isDue)
    }

    @Test func `successive connections reuse the same memory`() {
        var heap = UnusedHeap()
        for _ in 0..<10_000 {
            heap.began(1)
            let isDue = heap.ended(leaving: 0)
            #expect(!isDue)
        }
    }

    @Test func `the memory of many parked connections is returned`() {
        var heap = UnusedHeap()
        let dues = (0..<128).map { _ in heap.parked() }
        #expect(dues.count { $0 } == 1 && dues[63])
    }

    @Test func `a second burst has its own peak`() {
        var heap = UnusedHeap()
        for _ in 0..<2 {
            for count in 1...100 { heap.began(count) }
            let dues = (0..<100).reversed().map { heap.ended(leaving: $0) }
            #expect(dues.count { $0 } == 1)
            heap.trimmed()
        }
    }
}
