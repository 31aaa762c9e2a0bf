import TestSupport
import Testing

/// Requests that may be repeated while the client is still sending their content.
@Suite struct RetriedUploadStory {
    private func channel(_ origin: OriginServer, _ retry: String = "") -> String {
        """
        orders:
          upstream: http://127.0.0.1:\(origin.port)
          retry: { backoff: { base: 1ms, max: 2ms }\(retry.isEmpty ? "" : ", ")\(retry) }
        """
    }

    private func head(_ method: String = "PUT", _ fields: String...) -> String {
        Raw.request(method, "/orders/2", fields: ["Transfer-Encoding: chunked"] + fields)
    }

    private static let end = "3\r\ntwo\r\n0\r\nX-Late: 1\r\n\r\n"

    /// Starts an origin that responds once on its first connection and closes it in the middle of the next
    /// request.
    private func staleOrigin(closingBehind text: String) async throws -> OriginServer {
        try await OriginServer.start { wire in
            if wire.number == 0 {
                _ = try await wire.message()
                try await wire.send(Raw.ok())
                try await wire.read(through: text)
                return
            }
            while let request = try await wire.next() { try await wire.send(Raw.ok(request.body)) }
        }
    }

    /// Starts an origin that responds with 503 to the beginning of the first content, and echoes later
    /// content.
    private func busyOrigin(
        after text: String,
        asking interim: String = ""
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            if wire.number == 0 {
                try await wire.read(through: "\r\n\r\n")
                if !interim.isEmpty { try await wire.send(interim) }
                if !text.isEmpty { try await wire.read(through: text) }
                try await wire.send(
                    Raw.response("503 Busy", fields: ["Connection: close"], body: "busy")
                )
                try await wire.rest()
                return
            }
            while let request = try await wire.next() { try await wire.send(Raw.ok(request.body)) }
        }
    }

    @Test(arguments: ["PUT", "DELETE", "GET"])
    func `a stream on a stale connection is sent again on a new one`(method: String) async throws {
        let origin = try await staleOrigin(closingBehind: "onetwo")
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(head(method) + "3\r\none\r\n" + RetriedUploadStory.end)
            let answer = try await app.message()
            #expect(answer.status == 200)
            #expect(answer.body == "onetwo")
            #expect(origin.connections.count == 2)
            let facts = try #require(try await proxy.log("orders").last).facts
            #expect(facts.attempts == 2)
            #expect(facts.retries == ["connection_terminated"])
            #expect(facts.reused == false)
            #expect(facts.bytesIn == 6)
        }
    }

    @Test func `an upload cut by a stale connection continues on a new one`() async throws {
        let origin = try await staleOrigin(closingBehind: "one\r\n")
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(head() + "3\r\none\r\n")
            try await #require(eventually { origin.connections.count == 2 })
            try await app.send(RetriedUploadStory.end)
            #expect(try await app.message().body == "onetwo")
            // The client's connection still works.
            try await app.send(Raw.get("/orders/3"))
            #expect(try await app.message().status == 200)
        }
    }

    @Test func `a POST stream on a stale connection is not sent again`() async throws {
        let origin = try await staleOrigin(closingBehind: "onetwo")
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(head("POST") + "3\r\none\r\n" + RetriedUploadStory.end)
            #expect(try await app.message().status == 502)
            #expect(origin.connections.count == 1)
        }
    }

    @Test(arguments: [("PUT", 200), ("POST", 503), ("PATCH", 503)])
    func `a streamed request is retried after a 503 if its method allows it`(
        method: String,
        status: Int
    ) async throws {
        let origin = try await busyOrigin(after: "onetwo")
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let answer = try await proxy.exchange(
                head(method) + "3\r\none\r\n" + RetriedUploadStory.end
            )
            #expect(answer.status == status)
            #expect(answer.body == (status == 200 ? "onetwo" : "busy"))
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == (status == 200 ? 2 : 1))
            #expect(facts.retries == (status == 200 ? ["status_503"] : nil))
        }
    }

    @Test func `after a 503 during an upload, the next attempt sends the whole content`()
        async throws
    {
        let origin = try await busyOrigin(after: "one\r\n")
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(head() + "3\r\none\r\n")
            try await #require(eventually { origin.connections.count == 2 })
            try await app.send(RetriedUploadStory.end)
            #expect(try await app.message().body == "onetwo")
            // The connection with half a body is not reused.
            try await origin.connections[0].closed.wait()
        }
    }

    @Test(arguments: [
        ("replay_body: 1KiB", 503), ("replay_body: off", 503), ("replay_body: 256KiB", 200),
        ("replay_body: 1KiB, spill: 1MiB", 200), ("replay_body: 256KiB, attempts: 0", 503),
    ])
    func `the channel limits the content kept for a retry`(
        retry: String,
        status: Int
    ) async throws {
        let origin = try await busyOrigin(after: "last")
        let body = String(repeating: "x", count: 200_000) + "last"
        try await DaemonHarness.run(channels: channel(origin, retry)) { proxy in
            let answer = try await proxy.exchange(
                Raw.request("PUT", "/orders/2", body: body)
            )
            #expect(answer.status == status)
            if status == 200 { #expect(answer.body == body) }
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.attempts == (status == 200 ? 2 : 1))
        }
    }

    @Test func `a 503 before the body was requested keeps the expectation`() async throws {
        let origin = try await busyOrigin(after: "")
        try await DaemonHarness.run(
            channels: channel(origin)
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(head("PUT", "Expect: 100-continue"))
            #expect(
                await eventually {
                    let asked = origin.connections.map(\.received)
                    return asked.count { $0.contains("Expect: 100-continue\r\n") } == 2
                }
            )
            // This origin never responds to the expectation.
            await proxy.advance(by: .seconds(2))
            #expect(try await app.message(.none).status == 100)
            try await app.send("3\r\none\r\n" + RetriedUploadStory.end)
            #expect(try await app.message().body == "onetwo")
        }
    }

    @Test func `a 503 after the body was requested drops the expectation`() async throws {
        let origin = try await busyOrigin(
            after: "one\r\n",
            asking: "HTTP/1.1 100 Continue\r\n\r\n"
        )
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(head("PUT", "Expect: 100-continue"))
            #expect(try await app.message(.none).status == 100)
            try await app.send("3\r\none\r\n" + RetriedUploadStory.end)
            #expect(try await app.message().body == "onetwo")
            #expect(origin.requests.map { $0["Expect"] } == [nil])
        }
    }

    @Test(arguments: [1, 2])
    func `a client that disconnects during its upload ends the attempts`(_ attempts: Int)
        async throws
    {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            if wire.number == 0 {
                _ = try await wire.message()
                try await wire.send(Raw.ok())
            }
            try await wire.read(through: "one\r\n")
            guard wire.number == attempts - 1 else { return }
            begun.open()
            try await wire.rest()
        }
        try await DaemonHarness.run(channels: channel(origin)) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            #expect(try await app.message().status == 200)
            try await app.send(head() + "3\r\none\r\n")
            try await begun.wait()
            try await app.reset()
            try await origin.connections[attempts - 1].closed.wait()
            let facts = try #require(try await proxy.log("orders").last).facts
            #expect(facts.status == 499)
            #expect(facts.abortedBy == "client")
            #expect(facts.attempts == attempts)
            #expect(facts.retries == (attempts == 1 ? nil : ["connection_terminated"]))
            #expect(origin.connections.count == attempts)
        }
    }
}
