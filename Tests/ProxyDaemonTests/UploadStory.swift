import TestSupport
import Testing

@Suite struct UploadStory {
    @Test func `an answer before the end of an upload reaches the app`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "part")
            try await wire.send(Raw.response("413 Content Too Large", body: "no"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\npart"
            )
            let answer = try await app.message()
            #expect(answer.status == 413)
            #expect(answer.body == "no")
            #expect(answer["Connection"] == "close")
        }
    }

    @Test func `the body waits until the origin asks for it`() async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            let head = try await wire.read(through: "\r\n\r\n")
            #expect(head.lowercased().contains("expect: 100-continue"))
            asked.open()
            try await wire.send("HTTP/1.1 100 Continue\r\n\r\n")
            try await wire.read(through: "hello")
            try await wire.send(Raw.ok())
            _ = try await wire.next()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            try await asked.wait()
            #expect(try await app.message(.none).status == 100)
            try await app.send("hello")
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `an origin that refuses the expectation costs no body`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.response("417 Expectation Failed"))
            try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try await app.message().status == 417)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.bytesIn == 0)
        }
    }

    @Test func `an app that leaves in its upload is 499`() async throws {
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.rest()
            ended.open()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /orders/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\npart"
            )
            while origin.connections.isEmpty { await Task.yield() }
            try await app.reset()
            try await ended.wait()
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
        }
    }
}
