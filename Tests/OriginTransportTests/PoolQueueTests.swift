import Testing

@testable import OriginTransport

/// Tests of the order in which waiters get a connection of a full pool.
@Suite struct PoolQueueTests {
    private final class Sender {}

    private let first = Sender()
    private let second = Sender()

    private func waiter(of sender: Sender?) -> PoolWaiter {
        PoolWaiter(of: sender.map { ObjectIdentifier($0) })
    }

    @Test func `senders take turns, and each keeps its order`() {
        let queue = PoolQueue()
        let many = (0..<5).map { _ in waiter(of: first) }
        let few = (0..<2).map { _ in waiter(of: second) }
        let alone = waiter(of: nil)
        for waiter in many + few + [alone] { queue.add(waiter) }
        #expect(queue.count == 8)
        let taken = (0..<8).map { _ in queue.takeWaiting() }
        let order = [many[0], few[0], alone, many[1], few[1], many[2], many[3], many[4]]
        for (taken, wanted) in zip(taken, order) { #expect(taken === wanted) }
        #expect(queue.takeWaiting() == nil && queue.count == 0)
    }

    @Test func `a sender that is not eligible keeps its turn`() {
        let queue = PoolQueue()
        let many = (0..<2).map { _ in waiter(of: first) }
        let other = waiter(of: second)
        for waiter in many + [other] { queue.add(waiter) }
        let blocked = ObjectIdentifier(first)
        #expect(queue.takeWaiting { $0 != blocked } === other)
        #expect(queue.takeWaiting { $0 != blocked } == nil && queue.count == 2)
        #expect(queue.takeWaiting() === many[0])
        #expect(queue.takeWaiting() === many[1])
    }

    @Test func `removed and canceled waiters do not delay others`() {
        let queue = PoolQueue()
        let waiters = (0..<4).map { _ in waiter(of: first) }
        for waiter in waiters { queue.add(waiter) }
        queue.remove(waiters[0])
        queue.remove(waiters[0])
        waiters[1].cancel()
        #expect(queue.count == 3)
        #expect(queue.takeWaiting() === waiters[2])
        queue.putBack(waiters[2])
        #expect(queue.takeWaiting() === waiters[2])
        #expect(queue.takeWaiting() === waiters[3])
        #expect(queue.takeWaiting() == nil && queue.count == 0)
        queue.remove(waiters[1])
        #expect(queue.count == 0)
    }

    @Test func `twenty thousand waiters are added and removed quickly, and released`() {
        let queue = PoolQueue()
        weak var forgotten: PoolWaiter?
        let elapsed = ContinuousClock().measure {
            let waiters = (0..<20_000).map { waiter(of: $0.isMultiple(of: 2) ? first : second) }
            forgotten = waiters[7]
            for waiter in waiters { queue.add(waiter) }
            // The last one first: the worst order for a queue that searches from the front.
            for waiter in waiters.reversed().dropLast(10) { queue.remove(waiter) }
        }
        #expect(queue.count == 10)
        for _ in 0..<10 { #expect(queue.takeWaiting() != nil) }
        #expect(queue.takeWaiting() == nil)
        #expect(forgotten == nil)
        #expect(elapsed < .seconds(5))
    }
}
