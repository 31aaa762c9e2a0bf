import NetproxyHTTP2
import NetproxyHTTPMessage
import Synchronization
import TestSupport
import Testing

/// The rules for HTTP/1 clients, applied to the streams of HTTP/2 clients.
@Suite struct DownstreamStreamStory {
    private func run(
        _ root: String = "",
        _ channel: String = "",
        _ story: (DaemonHarness, OriginServer, HTTP2Peer) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { request in
            Raw.ok("\(request.startLine.split(separator: " ")[1])")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  \(channel)
                """,
            root: root
        ) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            try await story(proxy, origin, app)
        }
    }

    @Test func `each stream has its own record`() async throws {
        try await run { proxy, _, app in
            var streams: [Int32?] = []
            for number in 0..<10 {
                streams.append(try await app.request(.get, "/orders/\(number)"))
            }
            for (number, stream) in streams.enumerated() {
                #expect(try await app.message(on: stream).body == "/\(number)")
            }
            let lines = try await proxy.log("orders")
            #expect(lines.count == 10)
            #expect(Set(lines.compactMap(\.facts.requestID)).count == 10)
        }
    }

    @Test func `a stream for an unknown host is refused, and the connection continues`()
        async throws
    {
        try await run { proxy, origin, app in
            let foreign = try await app.request(.get, "/orders/1", host: "evil.example")
            let refusal = try await app.message(on: foreign)
            #expect(refusal.status == 421)
            #expect(refusal["content-type"] == "application/problem+json")
            let own = try await app.request(.get, "/1", host: "orders.localhost")
            #expect(try await app.message(on: own).body == "/1")
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `a channel's key is required`() async throws {
        try await run("", "access: { key: 'literal:secret-key' }") { _, origin, app in
            let without = try await app.request(.get, "/orders/1")
            #expect(try await app.message(on: without).status == 401)
            let with = try await app.request(
                .get,
                "/orders/1",
                ["Proxy-Authorization": "Bearer secret-key"]
            )
            #expect(try await app.message(on: with).status == 200)
            #expect(origin.requests.count == 1)
            #expect(origin.requests[0]["Proxy-Authorization"] == nil)
        }
    }

    @Test func `a tunnel requires HTTP/1`() async throws {
        try await run("connect: ['127.0.0.1:1']") { _, _, app in
            let stream = try await app.request(.connect, "127.0.0.1:1", host: "127.0.0.1:1")
            #expect(try await app.message(on: stream).status == 501)
            let next = try await app.request(.get, "/orders/1")
            #expect(try await app.message(on: next).status == 200)
        }
    }

    @Test func `a drain lets streams finish and sends GOAWAY`() async throws {
        let gate = Gate()
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await gate.wait()
                try await wire.send(Raw.ok("late"))
            }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            let stream = try await app.request(.get, "/orders/1")
            _ = await eventually { !origin.requests.isEmpty }
            async let stopped: Void = proxy.stop()
            try await app.receive { !$0.goAways.isEmpty }
            gate.open()
            #expect(try await app.message(on: stream).body == "late")
            await stopped
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a client that resets a stream ends its upstream exchange`() async throws {
        let ended = Gate()
        let origin = try await OriginServer.startHTTP2 { peer, _ in
            try await peer.receive { !$0.resets.isEmpty }
            ended.open()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port), http: http2 }"
        ) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            let stream = try #require(try await app.request(.get, "/orders/1"))
            _ = await eventually { !origin.connections.isEmpty }
            _ = await eventually { (origin.connections.first?.receivedBytes.count ?? 0) > 100 }
            try await app.reset(stream, .cancel)
            try await ended.wait()
            #expect(await proxy.hasLoggedExchange("orders"))
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.abortedBy == "client")
        }
    }

    @Test func `a client that disconnects ends its exchanges`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            _ = try await wire.rest()
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port) }"
        ) { proxy in
            let wire = try await proxy.connect()
            let app = HTTP2Peer(wire, as: .client)
            try await app.flush()
            _ = try await app.request(.get, "/orders/1")
            _ = await eventually { !origin.requests.isEmpty }
            try await wire.close()
            #expect(await proxy.hasLoggedExchange("orders"))
            #expect(try await proxy.onlyLine("orders").facts.abortedBy == "client")
        }
    }

    @Test func `a malformed request is recorded and gets a response`() async throws {
        try await run { proxy, origin, app in
            _ = try await app.request(.get, "/orders/1", ["TE": "gzip"])
            let first = try await app.next()
            #expect(first?.status == 400)
            #expect(origin.requests.isEmpty)
            let next = try await app.request(.get, "/orders/2")
            #expect(try await app.message(on: next).status == 200)
        }
    }

    /// The ways in which an upstream breaks a response off.
    enum Truncation: String, CaseIterable {
        case chunked, length, reset
    }

    @Test(.timeLimit(.minutes(1)), arguments: Truncation.allCases)
    func `a response that the upstream breaks off never ends as a whole one`(
        _ truncation: Truncation
    ) async throws {
        let isHTTP2 = truncation == .reset
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            if isHTTP2 {
                let peer = HTTP2Peer(wire, as: .server)
                try await peer.flush()
                guard let stream = try await peer.next()?.stream else { return }
                try await peer.beginResponse(to: stream)
                try await peer.send("part", on: stream)
                try await begun.wait()
                try await peer.reset(stream, .noError)
                _ = try await wire.rest()
                return
            }
            _ = try await wire.next()
            let framing =
                truncation == .length
                ? "Content-Length: 100\r\n\r\npart"
                : "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"
            try await wire.send("HTTP/1.1 200 OK\r\n" + framing)
            try await begun.wait()
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  http: \(isHTTP2 ? "http2" : "http1")
                """
        ) { proxy in
            let app = HTTP2Peer(try await proxy.connect(), as: .client)
            try await app.flush()
            let stream = try #require(try await app.request(.get, "/orders/1"))
            try await app.receive { !$0.content(on: stream).isEmpty }
            begun.open()
            try await app.receive { $0.hasEnded(stream) }
            #expect(app.resets[stream] == .internalError)
            #expect(String(decoding: app.content(on: stream), as: UTF8.self) == "part")
            let next = try await app.request(.get, "/none")
            #expect(try await app.message(on: next).status == 404)
        }
    }
}
