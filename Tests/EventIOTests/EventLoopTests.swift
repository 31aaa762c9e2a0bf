import EventIO
import Synchronization
import TestSupport
import Testing

@Suite struct EventLoopTests {
    @Test func `calls from many threads all arrive, each on the loop`() async throws {
        let loop = try EventLoop()
        loop.start()
        let count = Counter()
        let all = Gate()
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...8 {
                group.addTask {
                    for _ in 1...250 {
                        loop.submit {
                            if loop.isCurrent, count.next() == 2000 { all.open() }
                        }
                    }
                }
            }
        }
        try await all.wait()
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test func `calls of one thread keep their order`() async throws {
        let loop = try TestLoop.shared()
        let order = Order()
        let done = Gate()
        for number in 1...100 { loop.submit { order.numbers.withLock { $0.append(number) } } }
        loop.submit { done.open() }
        try await done.wait()
        #expect(order.numbers.withLock { $0 } == Array(1...100))
    }

    private final class Order: Sendable {
        let numbers = Mutex<[Int]>([])
    }

    @Test func `a task that prefers the loop comes back to it after every wait`() async throws {
        let loop = try TestLoop.shared()
        let stayed = try await Task(executorPreference: loop) {
            let before = loop.isCurrent
            try await loop.sleep(for: .milliseconds(1))
            await Task.yield()
            return before && loop.isCurrent
        }.value
        #expect(stayed)
    }

    @Test func `a stopped loop ends`() async throws {
        let loop = try EventLoop()
        loop.start()
        loop.stop()
        await loop.waitUntilStopped()
        // And says so to those who ask later.
        await loop.waitUntilStopped()
    }
}
