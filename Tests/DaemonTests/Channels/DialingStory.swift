import NetproxyEventIO
import OriginTransport
import TestSupport
import Testing

/// The connection attempts to an upstream.
@Suite struct DialingStory {
    @Test func `an exchange's total timeout ends a wait for a connection`() async throws {
        let silent = try await SilentPort()
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://\(silent.address)
                  timeouts: { connect: 1h, total: 50ms }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 504)
            #expect(answer["Proxy-Status"] == "netproxy; error=http_response_timeout")
        }
    }

    @Test func `an exchange's total timeout ends a handshake`() async throws {
        let origin = try await OriginServer.start { try await $0.rest() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://127.0.0.1:\(origin.port)
                  timeouts: { connect: 1h, total: 50ms }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer["Proxy-Status"] == "netproxy; error=http_response_timeout")
            try await origin.connections[0].closed.wait()
        }
    }

    @Test func `a handshake cut by the server is retried`() async throws {
        let origin = try await OriginServer.start { wire in
            // The server is stopping when the handshake begins.
            try await wire.read(through: "\u{16}")
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://127.0.0.1:\(origin.port)
                  retry: { attempts: 2, backoff: { base: 1ms } }
                """
        ) { proxy in
            let answer = try await proxy.exchange(Raw.post("/orders/1", body: "hello"))
            #expect(answer["Proxy-Status"] == "netproxy; error=tls_protocol_error")
            #expect(origin.connections.count == 3)
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.retries == ["tls_protocol_error", "tls_protocol_error"])
        }
    }

    @Test(arguments: ["http", "https"])
    func `a client that disconnects cancels the connection attempt`(scheme: String) async throws {
        let silent = try await SilentPort()
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: '\(scheme)://\(silent.address)', timeouts: { connect: 1h } }
                """
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send(Raw.get("/orders/1"))
            try await app.close()
            #expect(await proxy.hasLoggedExchange("orders"))
            let line = try await proxy.onlyLine("orders")
            #expect(line.facts.status == 499)
            #expect(line.facts.abortedBy == "client")
        }
    }

    @Test(arguments: ["http1", "http2"])
    func `an attempt to connect that takes long leaves its place to another one`(
        version: String
    ) async throws {
        // The handshakes never end.
        let origin = try await OriginServer.start { try await $0.rest() }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: https://127.0.0.1:\(origin.port)
                  http: \(version)
                  timeouts: { connect: 1h }
                  pool: { connections: 1, wait: 1h }
                """
        ) { proxy in
            let (first, second) = (try await proxy.connect(), try await proxy.connect())
            try await first.send(Raw.get("/orders/1"))
            try await #require(eventually { origin.connections.count == 1 })
            try await second.send(Raw.get("/orders/2"))
            try await #require(hasOneInQueue(proxy))
            #expect(origin.connections.count == 1)
            await proxy.advance(by: .seconds(2))
            #expect(await eventually { origin.connections.count == 2 })
        }
    }

    private func hasOneInQueue(_ proxy: DaemonHarness) async -> Bool {
        await eventually {
            let status = try? await proxy.ask(Raw.get("/status"))
            return status?.body.contains(#""queued":1"#) == true
        }
    }

    @Test func `a responding address does not wait for a silent one`() async throws {
        let silent = try await SilentPort()
        let origin = try await OriginServer.start { try await $0.rest() }
        let loop = try TestLoop.shared()
        let good = try #require(SocketAddress(ip: "127.0.0.1", port: UInt16(origin.port)))
        // Takes as long as the head start, which is real time.
        let peer = try await Task(executorPreference: loop) {
            let socket = try await AddressRace.connect(
                to: [silent.address, good],
                on: loop,
                until: .max
            )
            defer { socket.close() }
            return socket.peer
        }.value
        #expect(peer == good)
    }

    @Test func `no other address is dialed during the head start of an address`() async throws {
        let greet: OriginServer.Script = { wire in
            try await wire.send("hello\n")
            try await wire.rest()
        }
        let origins = try await [OriginServer.start(greet), OriginServer.start(greet)]
        let loop = try TestLoop.shared()
        let addresses = try origins.map {
            try #require(SocketAddress(ip: "127.0.0.1", port: UInt16($0.port)))
        }
        try await Task(executorPreference: loop) {
            try await AddressRace.connect(to: addresses, on: loop, until: .max).close()
        }.value
        // Any other connection to the second origin was accepted before this one.
        let probe = try await RawClient.connect(to: origins[1].port)
        try await probe.read(through: "\n")
        #expect(origins[1].connections.count == 1)
    }

    @Test(arguments: [true, false])
    func `a refusal by an address ends its head start`(othersAnswer: Bool) async throws {
        let origin = try await OriginServer.start { try await $0.rest() }
        let loop = try TestLoop.shared()
        let ports = [RefusingPort.any(), othersAnswer ? origin.port : RefusingPort.any()]
        let addresses = try ports.map {
            try #require(SocketAddress(ip: "127.0.0.1", port: UInt16($0)))
        }
        // Far longer than the test's timeout: only an attempt without this wait ends in time.
        let headStart = Duration.seconds(600)
        let time = await ContinuousClock().measure {
            await Task(executorPreference: loop) {
                try? await AddressRace.connect(
                    to: addresses,
                    on: loop,
                    until: .max,
                    headStarts: AddressRace.HeadStarts(first: headStart, later: headStart)
                ).close()
            }.value
        }
        #expect(time < headStart)
    }

    @Test func `an error of the peer takes precedence over a local error`() async throws {
        let loop = try TestLoop.shared()
        let refusing = try #require(
            SocketAddress(ip: "127.0.0.1", port: UInt16(RefusingPort.any()))
        )
        let missing = try #require(SocketAddress(unixPath: "/nonexistent/netproxy.sock"))
        for addresses in [[refusing, missing], [missing, refusing]] {
            await #expect(throws: IOError.refused) {
                try await Task(executorPreference: loop) {
                    try await AddressRace.connect(to: addresses, on: loop, until: .max).close()
                }.value
            }
        }
    }
}
