import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@testable import NetproxyHTTP2

@Suite struct ContentBudgetTests {
    /// A client that uploads on many streams to a server that reads nothing.
    private func fill(_ memory: ContentBudget, streams count: Int = 100) throws -> Flood {
        let pair = Pair(memory: memory)
        let flood = Flood(pair)
        for _ in 0..<count {
            let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
            pair.client.send(ByteSlice([UInt8](repeating: 1, count: 1 << 20)), on: stream)
        }
        try flood.run()
        return flood
    }

    /// The bytes between two sessions, of which the server consumes none.
    private final class Flood {
        let pair: Pair
        var received: [Int32: Int] = [:]
        var total: Int { received.values.reduce(0, +) }

        init(_ pair: Pair) { self.pair = pair }

        func run() throws {
            var isMoving = true
            while isMoving {
                let output = OutputBuffer()
                try pair.client.produce(into: output, upTo: 1 << 20)
                try pair.server.receive(output.span, now: 1)
                for event in pair.server.takeEvents() {
                    if case .content(let id, let range) = event {
                        received[id, default: 0] += range.count
                    }
                }
                let back = OutputBuffer()
                try pair.server.produce(into: back, upTo: 1 << 20)
                try pair.client.receive(back.span, now: 1)
                isMoving = output.count > 0 || back.count > 0
            }
        }

        func consume(_ id: Int32) {
            pair.server.consumed(received.removeValue(forKey: id) ?? 0, on: id)
        }
    }

    @Test func `connections whose content nobody reads stay within the budget`() throws {
        let memory = ContentBudget(64 << 20)
        let floods = try (0..<32).map { _ in try fill(memory, streams: 40) }
        let content = floods.reduce(0) { $0 + $1.total }
        #expect(content <= min(memory.used, 64 << 20) + 32 * ConnectionWindow.least)
    }

    @Test func `a stream receives at most 64 KiB before it is read`() throws {
        let flood = try fill(ContentBudget(64 << 20), streams: 10)
        #expect(flood.received.values.allSatisfy { $0 == 64 << 10 })
        #expect(flood.received.count == 10)
    }

    @Test func `a connection receives 64 KiB even if the budget is used up`() throws {
        let memory = ContentBudget(1 << 20)
        memory.take(2 << 20)
        let flood = try fill(memory)
        #expect(flood.total == ConnectionWindow.least)
    }

    @Test func `content continues once other content of its connection was read`() throws {
        let memory = ContentBudget(1 << 20)
        memory.take(1 << 20)
        let flood = try fill(memory, streams: 3)
        #expect(flood.total == ConnectionWindow.least && flood.pair.server.isFull)
        for _ in 0..<200 where flood.pair.server.isFull {
            for id in Array(flood.received.keys) { flood.consume(id) }
            #expect(!flood.pair.server.isFull)
            try flood.run()
        }
        // Each stream has sent its whole content.
        #expect(flood.total == 0 || !flood.pair.server.isFull)
    }

    @Test func `a closed connection returns its part of the budget`() throws {
        let memory = ContentBudget(64 << 20)
        do {
            let flood = try fill(memory)
            #expect(memory.used > flood.total / 2)
        }
        #expect(memory.used == 0)
    }

    @Test func `a connection takes at most a sixteenth of the unused budget`() throws {
        let memory = ContentBudget(16 << 20)
        let first = try fill(memory)
        let second = try fill(memory)
        #expect(first.total <= 1 << 20 + ConnectionWindow.least)
        #expect(second.total > ConnectionWindow.least)
    }

    @Test func `dropped content returns to the peer`() throws {
        let pair = Pair(memory: ContentBudget(1 << 20))
        for _ in 0..<100 {
            let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
            try pair.run()
            pair.server.reset(stream, .refusedStream)
            pair.client.send(ByteSlice([UInt8](repeating: 1, count: 40_000)), on: stream)
            try pair.run()
        }
        #expect(!pair.server.isFull)
    }
}
