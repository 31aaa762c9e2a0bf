import NetproxyBytes
import NetproxyEventIO
import Synchronization
import TestSupport
import Testing

@Suite struct EventLoopTests {
    @Test func `all calls from many threads run on the loop`() async throws {
        let loop = try EventLoop()
        try loop.start()
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

    @Test func `calls from one thread keep their order`() async throws {
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

    @Test func `a task that prefers the loop returns to it after every wait`() async throws {
        let loop = try TestLoop.shared()
        let stayed = try await Task(executorPreference: loop) {
            let before = loop.isCurrent
            try await loop.sleep(for: .milliseconds(1))
            await Task.yield()
            return before && loop.isCurrent
        }.value
        #expect(stayed)
    }

    @Test func `the clock is correct at the first event after a long wait`() async throws {
        let loop = try EventLoop()
        try loop.start()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("late")
            _ = try await wire.next()
        }
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: UInt16(origin.port)))
        let woken = Gate()
        let readings = Mutex<(asked: UInt64, woken: UInt64)>((0, 0))
        let bound = try await Task(executorPreference: loop) {
            let socket = try await Dialer.connect(to: address, on: loop, until: .max)
            let output = OutputBuffer()
            output.append(Raw.get("/"))
            // From here on, the loop is idle until the response arrives.
            readings.withLock { $0.asked = monotonicNanoseconds() }
            try await socket.write(output, until: .max)
            socket.probe()
            socket.park(until: .max) {
                readings.withLock { $0.woken = loop.now }
                woken.open()
            }
            return LoopBound(socket, on: loop)
        }.value
        try await woken.wait()
        let (asked, wakened) = readings.withLock { ($0.asked, $0.woken) }
        #expect(wakened >= asked)
        _ = await bound.call { $0.close() }
        loop.stop()
        await loop.waitUntilStopped()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a stopped loop runs no more calls`() async throws {
        let loop = try EventLoop()
        try loop.start()
        let calls = Counter()
        _ = await loop.call { _ in calls.add(1) }
        loop.stop()
        await loop.waitUntilStopped()
        loop.submit { calls.add(1) }
        // Later waits return, too.
        await loop.waitUntilStopped()
        #expect(calls.value == 1)
    }
}
