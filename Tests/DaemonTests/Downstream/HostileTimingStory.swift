import TestSupport
import Testing

/// Harmless messages whose bytes arrive at awkward times.
@Suite struct HostileTimingStory {
    private func run(
        _ origin: OriginServer,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  match: { path: /, hosts: [a] }
                  retry: { attempts: 0 }
                """,
            story
        )
    }

    private func get(_ target: String, _ fields: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    private func echo() async throws -> OriginServer {
        try await OriginServer.start { Raw.ok("\($0.startLine) \($0.body)") }
    }

    // MARK: - Requests

    @Test func `half a head, followed by its rest with another request, forms two requests`()
        async throws
    {
        let origin = try await echo()
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/one") + "GET /two HTTP/1.1\r\nHo")
            // The response shows that the daemon has read up to here.
            #expect(try await app.message().body == "GET /one HTTP/1.1 ")
            try await app.send("st: a\r\nX: y\r\n\r\n" + get("/three"))
            #expect(try await app.message().body == "GET /two HTTP/1.1 ")
            #expect(try await app.message().body == "GET /three HTTP/1.1 ")
            #expect(origin.requests.count == 3)
        }
    }

    @Test func `a malformed end of a head invalidates everything after it`() async throws {
        let origin = try await echo()
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/one") + "POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 1")
            _ = try await app.message()
            try await app.send("\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get("/three"))
            #expect(try await app.message().status == 400)
            #expect(try await app.rest().text.isEmpty)
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `the end of a body and the next request in one packet are separated`() async throws {
        let seen = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\nhel")
            seen.open()
            try await wire.read(through: "lo")
            try await wire.send(Raw.ok("first"))
            #expect(try await wire.message().startLine == "GET /two HTTP/1.1")
            try await wire.send(Raw.ok("second"))
            _ = try await wire.next()
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send("POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
            try await seen.wait()
            try await app.send("lo" + get("/two"))
            #expect(try await app.message().body == "first")
            #expect(try await app.message().body == "second")
        }
    }

    @Test func `the rest of an unread body is not parsed as a request`() async throws {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.response("403 Forbidden", body: "early"))
            try await wire.rest()
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            let hidden = get("/hidden")
            try await app.send(
                "POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: \(hidden.utf8.count)\r\n\r\n"
            )
            #expect(try await app.message().status == 403)
            try? await app.send(hidden)
            #expect(try await app.rest().text.isEmpty)
            for wire in origin.connections { #expect(!wire.received.contains("GET /hidden")) }
        }
    }

    @Test func `a body refused after an expectation is not parsed as a request`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.response("417 Expectation Failed", body: "no"))
            try await wire.rest()
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            let hidden = get("/hidden")
            try await app.send(
                "POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: \(hidden.utf8.count)\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try await app.message().status == 417)
            try? await app.send(hidden + get("/behind"))
            #expect(try await app.rest().text.isEmpty)
            for wire in origin.connections { #expect(!wire.received.contains("/hidden")) }
        }
    }

    @Test(arguments: [
        "GET /x/../../y HTTP/1.1\r\nHost: a\r\n", "GET http://b/ HTTP/1.1\r\nHost: b\r\n",
        "GET / HTTP/1.1\r\nHost: rebound.example\r\n",
    ])
    func `the body of a request that netproxy refuses is not parsed as a request`(head: String)
        async throws
    {
        let origin = try await echo()
        try await run(origin) { proxy in
            let hidden = get("/hidden")
            for body in [
                "Content-Length: \(hidden.utf8.count)\r\n\r\n\(hidden)",
                "Transfer-Encoding: chunked\r\n\r\n"
                    + "\(String(hidden.utf8.count, radix: 16))\r\n\(hidden)\r\n0\r\n\r\n",
            ] {
                let app = try await proxy.connect()
                try await app.send(head + body)
                #expect((400..<500).contains(try await app.message().status))
                try? await app.finishWriting()
                #expect(try await app.rest().text.isEmpty)
            }
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `chunks that become malformed halfway never form a complete request`()
        async throws
    {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "5\r\nhello\r\n")
            begun.open()
            let (text, _) = try await wire.rest()
            #expect(!text.contains("0\r\n\r\n"))
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
            )
            try await begun.wait()
            // The machine may be slow.
            await proxy.advance(by: .seconds(20))
            try await app.send("0x0\r\n\r\n" + get("/two"))
            #expect(try await app.message().status == 400)
            #expect(try await app.rest().text.isEmpty)
            try await origin.connections[0].closed.wait()
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `a client that disconnects during a body leaves no partial request for others`()
        async throws
    {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            guard wire.number == 0 else {
                while let request = try await wire.next() {
                    try await wire.send(Raw.ok(request.startLine))
                }
                return
            }
            try await wire.read(through: "hel")
            begun.open()
            try await wire.rest()
        }
        try await run(origin) { proxy in
            let leaver = try await proxy.connect()
            try await leaver.send("POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nhel")
            try await begun.wait()
            try await leaver.reset()
            try await origin.connections[0].closed.wait()
            let answer = try await proxy.exchange(get("/two"))
            #expect(answer.body == "GET /two HTTP/1.1")
            #expect(origin.connections.count == 2)
        }
    }

    // MARK: - Responses

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 408 x\r\n\r\n", "x",
        "HTTP/1.1 100 Continue\r\n\r\n", "\r\n", "HTTP/1.1 200 OK\r\nX: ",
    ])
    func `surplus bytes of an origin are not used as a response`(surplus: String) async throws {
        let wanted = Gate()
        let said = Gate()
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request.startLine))
                guard wire.number == 0 else { continue }
                try await wanted.wait()
                try await wire.send(surplus)
                said.open()
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/one"))
            #expect(try await app.message().body == "GET /one HTTP/1.1")
            wanted.open()
            try await said.wait()
            try await app.send(get("/two"))
            #expect(try await app.message().body == "GET /two HTTP/1.1")
            let other = try await proxy.exchange(get("/three"))
            #expect(other.body == "GET /three HTTP/1.1")
            #expect(origin.connections[0].messages.count == 1)
        }
    }

    @Test func `the second of two responses in one packet is not used`() async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request.startLine) + Raw.ok("evil"))
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            for number in 1...3 {
                try await app.send(get("/\(number)"))
                #expect(try await app.message().body == "GET /\(number) HTTP/1.1")
            }
            #expect(origin.connections.count == 3)
        }
    }

    @Test func `pipelined requests never receive surplus bytes of an origin`() async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request.startLine) + Raw.ok("evil"))
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send((1...5).map { get("/\($0)") }.joined())
            for number in 1...5 {
                #expect(try await app.message().body == "GET /\(number) HTTP/1.1")
            }
        }
    }

    @Test func `a response before its request is not used for a later one`() async throws {
        let origin = try await OriginServer.start { wire in
            if wire.number == 0 { try await wire.send(Raw.ok("too early")) }
            while let request = try await wire.next() {
                try await wire.send(Raw.ok(request.startLine))
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/one"))
            _ = try await app.message()
            for number in 2...4 {
                try await app.send(get("/\(number)"))
                #expect(try await app.message().body == "GET /\(number) HTTP/1.1")
            }
        }
    }

    @Test func `endless interim responses cause 502`() async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                guard request.startLine.contains("/flood") else {
                    try await wire.send(Raw.ok("own answer"))
                    continue
                }
                // Until the proxy closes the connection.
                for _ in 0..<10_000 {
                    try await wire.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                }
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/flood"))
            var answer = try await app.message()
            while answer.status == 103 { answer = try await app.message() }
            #expect(answer.status == 502)
            try await app.send(get("/after"))
            #expect(try await app.message().body == "own answer")
        }
    }

    @Test(arguments: [
        "Content-Length: 99\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\n", "\r\n",
    ])
    func `a response cut by a reset is never complete`(framing: String) async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                guard request.startLine.contains("/cut") else {
                    try await wire.send(Raw.ok("own answer"))
                    continue
                }
                try await wire.send("HTTP/1.1 200 OK\r\n\(framing)part")
                return try await wire.reset()
            }
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(get("/cut"))
            // The response arrives at once, so it can be refused before its head is forwarded.
            let (text, end) = try await app.rest()
            #expect(text.hasPrefix("HTTP/1.1 502") || !text.contains("0\r\n\r\n") && end == .reset)
            #expect(try await proxy.exchange(get("/after")).body == "own answer")
        }
    }

    @Test func `a non-ASCII field value passes unchanged in both directions`() async throws {
        let value: [UInt8] = [0xE9, 0xFF, 0x80, 0x09, 0x41]
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            try await wire.send(
                Array("HTTP/1.1 200 OK\r\nX-Byte: ".utf8) + value
                    + Array("\r\nContent-Length: 0\r\n\r\n".utf8)
            )
            _ = try await wire.next()
        }
        try await run(origin) { proxy in
            let app = try await proxy.connect()
            try await app.send(
                Array("GET / HTTP/1.1\r\nHost: a\r\nX-Byte: ".utf8) + value
                    + Array("\r\n\r\n".utf8)
            )
            _ = try await app.message()
            let line = Array("X-Byte: ".utf8) + value + [0x0D, 0x0A]
            #expect(origin.connections.first?.receivedBytes.firstRange(of: line) != nil)
            #expect(app.receivedBytes.firstRange(of: line) != nil)
        }
    }
}
