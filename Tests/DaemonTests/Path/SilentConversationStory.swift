import NetproxyHTTP2
import NetproxyHTTPMessage
import TestSupport
import Testing

/// Conversations over one exchange in which one side is silent for longer than `timeouts.idle`.
@Suite(.timeLimit(.minutes(2))) struct SilentConversationStory {
    enum Version: CaseIterable { case http1, http2 }

    private static let versions = Version.allCases.flatMap { app in
        Version.allCases.map { (app, $0) }
    }

    /// The client of a conversation.
    private struct Client {
        let wire: Wire
        let peer: HTTP2Peer?
        var stream: Int32 = 0

        init(_ version: Version, _ proxy: DaemonHarness) async throws {
            wire = try await proxy.connect()
            peer = version == .http2 ? HTTP2Peer(wire, as: .client) : nil
            guard let peer else {
                let fields = ["Transfer-Encoding: chunked"]
                try await wire.send(Raw.request("POST", "/orders/talk", fields: fields))
                return
            }
            stream = try #require(try await peer.request(.post, "/orders/talk", content: nil))
        }

        func say(_ text: String) async throws {
            guard let peer else { return try await wire.send("5\r\n\(text)\r\n") }
            try await peer.send(text, on: stream)
        }

        func hear(_ text: String) async throws {
            guard let peer else {
                _ = try await wire.read(through: text)
                return
            }
            let stream = stream
            try await peer.receive {
                String(decoding: $0.content(on: stream), as: UTF8.self).contains(text)
            }
        }

        /// Whether the response ends before it is complete.
        func isCutOff() async throws -> Bool {
            guard let peer else { return try await !wire.rest().text.hasSuffix("0\r\n\r\n") }
            let stream = stream
            try await peer.receive { $0.resets[stream] != nil }
            return true
        }
    }

    /// An origin that responds to `hello`, sends a tick for each gate, and then waits for `world`.
    private func origin(
        _ version: Version,
        _ ticks: [Gate],
        _ heard: Gate
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            guard version == .http2 else {
                _ = try await wire.read(through: "hello")
                try await wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for (number, gate) in ticks.enumerated() {
                    try await gate.wait()
                    try await wire.send("5\r\ntick\(number)\r\n")
                }
                _ = try await wire.read(through: "world")
                heard.open()
                _ = try await wire.rest()
                return
            }
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            try await peer.receive { !$0.begun.isEmpty && $0.content(on: 1).count >= 5 }
            try await peer.beginResponse(to: 1)
            for (number, gate) in ticks.enumerated() {
                try await gate.wait()
                try await peer.send("tick\(number)", on: 1)
            }
            try await peer.receive { $0.content(on: 1).count >= 10 }
            heard.open()
            _ = try await peer.next()
        }
    }

    private func channel(_ origin: OriginServer, _ version: Version) -> String {
        """
        orders:
          upstream: http://127.0.0.1:\(origin.port)
          http: \(version == .http1 ? "http1" : "http2")
          timeouts: { idle: 1m }
        """
    }

    @Test(arguments: SilentConversationStory.versions)
    func `content of a client that was silent while it received arrives`(
        app: Version,
        version: Version
    ) async throws {
        let (ticks, heard) = ([Gate(), Gate(), Gate()], Gate())
        let origin = try await origin(version, ticks, heard)
        try await DaemonHarness.run(channels: channel(origin, version)) { proxy in
            let client = try await Client(app, proxy)
            try await client.say("hello")
            for (number, gate) in ticks.enumerated() {
                gate.open()
                try await client.hear("tick\(number)")
                await proxy.advance(by: .seconds(40))
            }
            try await client.say("world")
            try await heard.wait()
        }
    }

    @Test(arguments: SilentConversationStory.versions)
    func `an exchange that is silent in both directions ends on both sides`(
        app: Version,
        version: Version
    ) async throws {
        let tick = Gate()
        tick.open()
        let origin = try await origin(version, [tick], Gate())
        try await DaemonHarness.run(channels: channel(origin, version)) { proxy in
            let client = try await Client(app, proxy)
            try await client.say("hello")
            try await client.hear("tick0")
            await proxy.advance(by: .seconds(70))
            #expect(try await client.isCutOff())
            let facts = try await proxy.onlyLine("orders").facts
            #expect(facts.error != nil)
        }
    }
}
