import TestSupport
import Testing

/// A peer that does not read blocks the writer, because netproxy does not buffer bodies.
@Suite struct BackpressureStory {
    private static let piece = String(repeating: "x", count: 64 * 1024)
    /// Far more than the system's buffers of both connections, and far less than the announced length.
    private static let bound = 32 << 20

    enum Framing: CaseIterable { case length, chunked, untilClose }

    @Test(arguments: Framing.allCases)
    func `ten gigabytes wait for a reader that stops`(framing: Framing) async throws {
        let (moved, isFull) = (Counter(), Gate())
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            var piece = BackpressureStory.piece
            switch framing {
            case .length:
                try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
            case .chunked:
                try await wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                piece = "10000\r\n\(piece)\r\n"
            case .untilClose: try await wire.send("HTTP/1.1 200 OK\r\n\r\n")
            }
            moved.add(try await wire.flood(piece, upTo: 256 << 20))
            isFull.open()
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await isFull.wait()
            #expect(moved.value < BackpressureStory.bound)
            try await app.reset()
            try await origin.connections[0].closed.wait()
            #expect(try await proxy.onlyLine("orders").facts.abortedBy == "client")
        }
    }

    @Test func `ten gigabytes wait for an upstream that does not read`() async throws {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            begun.open()
            try await Gate().wait()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10737418240\r\n\r\n"
            )
            try await begun.wait()
            let moved = try await app.flood(BackpressureStory.piece, upTo: 256 << 20)
            #expect(moved < BackpressureStory.bound)
            try await app.reset()
        }
    }

    @Test func `an event is delivered when it arrives`() async throws {
        let next = [Gate(), Gate()]
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for (index, gate) in next.enumerated() {
                try await wire.send("data: \(index)\n\n")
                try await gate.wait()
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1", "Accept: text/event-stream"))
            // The client reads each event before the origin writes the next.
            for (index, gate) in next.enumerated() {
                try await app.read(through: "data: \(index)\n\n")
                gate.open()
            }
            try await app.read(through: "0\r\n\r\n")
        }
    }
}
