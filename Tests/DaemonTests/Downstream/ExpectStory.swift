import TestSupport
import Testing

/// Expect: 100-continue, end to end (RFC 9110 §10.1.1).
@Suite struct ExpectStory {
    private static let ask =
        "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        + "Expect: 100-continue\r\n\r\n"

    @Test func `an origin that ignores the expectation gets the body after a second`()
        async throws
    {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            asked.open()
            try await wire.read(through: "hello")
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(ExpectStory.ask)
            try await asked.wait()
            await proxy.advance(by: .seconds(2))
            #expect(try await app.message(.none).status == 100)
            try await app.send("hello")
            #expect(try await app.message().status == 200)
        }
    }

    @Test(arguments: ["/nobody", "/orders/../x"])
    func `a local refusal does not request the body`(path: String) async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:1 }") { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            let answer = try await app.message()
            #expect(answer.status >= 400)
            #expect(answer["Connection"] == "close")
            try await app.rest()
            #expect(try await proxy.log("netproxy").map(\.facts.bytesIn) == [0])
        }
    }

    @Test func `a connection error does not request the body`() async throws {
        let port = RefusingPort.any()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(port), retry: { attempts: 0 } }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(ExpectStory.ask)
            #expect(try await app.message().status == 502)
        }
    }

    @Test func `an unknown expectation is 417`() async throws {
        try await DaemonHarness.run(channels: "orders: { upstream: http://127.0.0.1:1 }") { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: a-miracle\r\n\r\n"
            )
            #expect(try await app.message().status == 417)
            #expect(try await app.rest().end == .closed)
        }
    }

    @Test func `a body sent without waiting is forwarded`() async throws {
        let origin = try await OriginServer.start { Raw.ok($0.body) }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(ExpectStory.ask + "hello")
            #expect(try await app.message().body == "hello")
            #expect(origin.requests.first?.values("Expect").isEmpty == true)
        }
    }

    @Test func `a response during an upload stops it`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "part")
            try await wire.send(Raw.response("401 Unauthorized", body: "no"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            await proxy.advance(by: .seconds(2))
            var answer = try await app.message(.none)
            if answer.status == 100 {
                try await app.send("part")
                answer = try await app.message()
            }
            #expect(answer.status == 401)
            #expect(answer["Connection"] == "close")
            // The connection with half a body is not reused.
            try await origin.connections[0].closed.wait()
        }
    }
}
