import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetproxyLiveObjects
import TestSupport
import Testing

/// The objects of an exchange are freed when it ends, in every way in which it can end.
@Suite(.enabled(if: LiveObjects.areCounted)) struct FreedObjectsStory {
    private enum Version: String, CaseIterable {
        case http1, http2
    }

    /// The course of an exchange.
    private enum Kind: String, CaseIterable {
        case get, post, upload, interim, call
        /// The response is complete before the request.
        case early
        /// netproxy responds itself.
        case unclaimed, foreign, unreachable, malformed
        /// The client ends the exchange before the response.
        case reset, resetWithoutError, resetUpload
        /// The client ends the exchange while both sides send.
        case resetConversation
        /// The upstream ends the exchange in the middle.
        case cut, cutConversation

        var isConversation: Bool { self == .resetConversation || self == .cutConversation }

        /// Whether an HTTP/1 client supports this kind.
        var isOfHTTP1: Bool {
            ![.call, .resetWithoutError, .malformed].contains(self)
        }
    }

    /// The behavior of a client after its exchanges.
    private enum Ending: String, CaseIterable {
        /// The connection ends in the middle of an exchange.
        case disconnect
        /// The daemon stops in the middle of an exchange.
        case drain
        /// Each exchange has its own connection.
        case oneConnectionEach
    }

    private struct Case: CustomTestStringConvertible {
        let kind: Kind
        let downstream: Version
        let upstream: Version
        var testDescription: String { "\(kind), \(downstream) to \(upstream)" }

        static let all = Version.allCases.flatMap { downstream in
            Version.allCases.flatMap { upstream in
                Kind.allCases.filter { downstream == .http2 || $0.isOfHTTP1 }.map {
                    Case(kind: $0, downstream: downstream, upstream: upstream)
                }
            }
        }
    }

    private static let repetitions = 5
    /// The types of the objects of an idle client connection.
    private static let connected: Set = [
        "DownstreamSession", "DownstreamConnection", "HTTP2Session", "HTTP2Wire",
        "DownstreamService",
        "StreamSocket",
    ]
    /// The types of the objects of an idle upstream connection.
    private static let pooled: Set = [
        "HTTP2Connection", "HTTP2Session", "HTTP2Wire", "StreamSocket", "UpstreamConnection",
    ]

    /// Returns the live objects except those of two idle connections.
    ///
    /// A timer that keeps an object alive is a leak, too.
    private func remains(
        _ objects: LiveObjects,
        besides idle: Set<String> = []
    ) async -> [String: Int] {
        let limit = ContinuousClock.now + .seconds(3)
        var remains: [String: Int] = [:]
        _ = await eventually {
            remains = objects.present.filter { !idle.contains($0.key) || $0.value > 2 }
            return remains.isEmpty || ContinuousClock.now > limit
        }
        return remains
    }

    // MARK: - The upstream

    private func origin(_ version: Version, _ kind: Kind) async throws -> OriginServer {
        switch version {
        case .http1: try await OriginServer.start { try await respond(to: $0, kind) }
        case .http2:
            try await OriginServer.start { wire in
                let peer = HTTP2Peer(wire, as: .server)
                try await peer.flush()
                for number in 0... {
                    try await peer.receive { $0.begun.count > number }
                    try await respond(to: peer.begun[number], of: peer, kind)
                }
            }
        }
    }

    private func respond(to wire: Wire, _ kind: Kind) async throws {
        switch kind {
        case .early:
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(Raw.ok("early"))
            try await wire.rest()
        case .reset, .resetWithoutError, .resetUpload:
            try await wire.rest()
        case .resetConversation, .cutConversation:
            try await wire.read(through: "\r\n\r\n")
            try await wire.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"
            )
            if kind == .resetConversation { try await wire.rest() }
        case .cut:
            _ = try await wire.next()
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
        default:
            while try await wire.next() != nil {
                if kind == .interim {
                    try await wire.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                }
                try await wire.send(Raw.ok("whole"))
            }
        }
    }

    private func respond(to stream: Int32, of peer: HTTP2Peer, _ kind: Kind) async throws {
        switch kind {
        case .early: try await peer.respond(to: stream, 200, [:], "early")
        case .reset, .resetWithoutError, .resetUpload: break
        case .cut, .resetConversation, .cutConversation:
            try await peer.beginResponse(to: stream, ["Content-Type": "application/grpc"])
            try await peer.send("part", on: stream)
            if kind != .resetConversation { try await peer.reset(stream, .internalError) }
        case .call:
            _ = try await peer.message(on: stream)
            let trailers: HTTPHeaders = ["grpc-status": "0"]
            try await peer.respond(to: stream, 200, [:], "whole", trailers: trailers)
        default:
            _ = try await peer.message(on: stream)
            if kind == .interim {
                let hints = OutputBuffer()
                HeadEncoder.encodeInformational(status: 103, headers: [:], into: hints)
                peer.session.sendInterim(hints, on: stream)
            }
            try await peer.respond(to: stream, 200, [:], "whole")
        }
    }

    // MARK: - The client

    private static func target(_ kind: Kind) -> String {
        switch kind {
        case .unclaimed: "/none"
        case .unreachable: "/unreachable/x"
        default: "/orders/x"
        }
    }

    /// Runs an exchange over HTTP/2.
    private func play(_ kind: Kind, by app: HTTP2Peer, to origin: OriginServer) async throws {
        let target = FreedObjectsStory.target(kind)
        switch kind {
        case .get, .interim, .cut, .unclaimed, .unreachable, .foreign, .malformed:
            let stream = try await app.request(
                .get,
                target,
                host: kind == .foreign ? "foreign.example" : "localhost",
                kind == .malformed ? ["TE": "gzip"] : [:]
            )
            if kind == .cut {
                let stream = try #require(stream)
                try await app.receive { $0.hasEnded(stream) }
            } else {
                _ = try await app.message(on: stream)
            }
        case .post, .call:
            let headers: HTTPHeaders = ["Content-Type": "application/grpc", "TE": "trailers"]
            let stream = try await app.request(
                .post,
                target,
                kind == .call ? headers : [:],
                content: "whole"
            )
            _ = try await app.message(on: stream)
        case .upload, .early, .resetUpload, .resetConversation, .cutConversation:
            let type = kind.isConversation ? "application/grpc" : "text/plain"
            let headers: HTTPHeaders = ["Content-Type": .init(type)]
            let stream = try #require(
                try await app.request(.post, target, headers, content: nil)
            )
            try await app.send("part", on: stream)
            try await end(kind, stream, of: app, to: origin)
        case .reset, .resetWithoutError:
            let count = received(by: origin)
            let stream = try #require(try await app.request(.get, target))
            #expect(await eventually { received(by: origin) > count })
            try await app.reset(stream, kind == .reset ? .cancel : .noError)
        }
    }

    private func end(
        _ kind: Kind,
        _ stream: Int32,
        of app: HTTP2Peer,
        to origin: OriginServer
    ) async throws {
        switch kind {
        case .upload:
            try await app.send("rest", on: stream, isLast: true)
            _ = try await app.message(on: stream)
        case .early: _ = try await app.message(on: stream)
        case .resetConversation:
            try await app.receive { !$0.content(on: stream).isEmpty }
            try await app.reset(stream, .cancel)
        case .cutConversation: try await app.receive { $0.hasEnded(stream) }
        default: try await app.reset(stream, .cancel)
        }
    }

    /// Returns the number of bytes that an origin has received.
    private func received(by origin: OriginServer) -> Int {
        origin.connections.reduce(0) { $0 + $1.receivedBytes.count }
    }

    /// Runs an exchange over HTTP/1, on its own connection.
    private func play(_ kind: Kind, through proxy: DaemonHarness, to origin: OriginServer)
        async throws
    {
        let app = try await proxy.connect()
        let target = FreedObjectsStory.target(kind)
        let chunked = ["Transfer-Encoding: chunked", "Content-Type: application/grpc"]
        switch kind {
        case .post: try await app.send(Raw.post(target, body: "whole"))
        case .upload, .early, .resetUpload, .resetConversation, .cutConversation:
            try await app.send(Raw.request("POST", target, fields: chunked) + "4\r\npart\r\n")
            if kind == .upload { try await app.send("0\r\n\r\n") }
        case .foreign:
            try await app.send(Raw.get(target).replacing("localhost", with: "foreign.example"))
        default:
            let count = received(by: origin)
            // An error response in place of the expected one also ends the connection.
            try await app.send(
                Raw.get(target, "Connection: \(kind == .cut ? "close" : "keep-alive")")
            )
            if kind == .reset { #expect(await eventually { received(by: origin) > count }) }
        }
        switch kind {
        case .reset, .resetUpload: try await app.reset()
        case .resetConversation:
            try await app.read(through: "part")
            try await app.reset()
        case .cut, .cutConversation: try await app.rest()
        case .interim:
            try await app.read(through: "103 Early Hints")
            fallthrough
        default: try await app.read(through: "HTTP/1.1 ")
        }
        try await app.close()
    }

    // MARK: - The stories

    private func run(
        _ kind: Kind,
        _ upstream: Version,
        _ story: (DaemonHarness, OriginServer, LiveObjects) async throws -> Void
    ) async throws {
        let origin = try await origin(upstream, kind)
        let objects = LiveObjects()
        defer { objects.stop() }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: 'http://127.0.0.1:\(origin.port)', http: \(upstream) }
                unreachable:
                  upstream: http://127.0.0.1:\(RefusingPort.any())
                  retry: { attempts: 0 }
                """
        ) { proxy in
            await proxy.count(in: objects)
            try await story(proxy, origin, objects)
            #expect(await remains(objects, besides: FreedObjectsStory.pooled) == [:])
        }
    }

    @Test(arguments: Case.all) private func `an exchange leaves no object behind`(
        _ test: Case
    ) async throws {
        try await run(test.kind, test.upstream) { proxy, origin, objects in
            let wire = try await proxy.connect()
            let app = HTTP2Peer(wire, as: .client)
            if test.downstream == .http2 { try await app.flush() }
            for _ in 0..<FreedObjectsStory.repetitions {
                switch test.downstream {
                case .http1: try await play(test.kind, through: proxy, to: origin)
                case .http2: try await play(test.kind, by: app, to: origin)
                }
            }
            // A client that resets its uploads has waited for nothing.
            if test.downstream == .http2 {
                #expect(await eventually { objects.known.contains("DownstreamStream") })
            }
            let idle = FreedObjectsStory.connected.union(FreedObjectsStory.pooled)
            #expect(await remains(objects, besides: idle) == [:])
            try await wire.close()
        }
    }

    @Test(arguments: Ending.allCases, Version.allCases)
    private func `a connection leaves no object behind`(
        _ ending: Ending,
        _ upstream: Version
    ) async throws {
        let kind = ending == .oneConnectionEach ? Kind.get : .resetConversation
        try await run(kind, upstream) { proxy, origin, objects in
            for number in 0..<FreedObjectsStory.repetitions {
                let wire = try await proxy.connect()
                let app = HTTP2Peer(wire, as: .client)
                try await app.flush()
                guard kind == .resetConversation else {
                    try await play(kind, by: app, to: origin)
                    try await wire.close()
                    continue
                }
                let headers: HTTPHeaders = ["Content-Type": "application/grpc"]
                let stream = try #require(
                    try await app.request(.post, "/orders/x", headers, content: nil)
                )
                try await app.send("part", on: stream)
                try await app.receive { !$0.content(on: stream).isEmpty }
                let isLast = number == FreedObjectsStory.repetitions - 1
                if ending == .drain, isLast {
                    async let stopped: Void = proxy.stop()
                    try await app.receive { !$0.goAways.isEmpty }
                    await proxy.advance(by: .seconds(60))
                    await stopped
                }
                try await wire.close()
            }
        }
    }

    @Test(arguments: ["upgrade", "connect"]) func `a tunnel leaves no object behind`(
        _ way: String
    ) async throws {
        let origin = try await OriginServer.start { wire in
            if way == "upgrade" {
                _ = try await wire.message()
                try await wire.send(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                        + "Upgrade: websocket\r\n\r\n"
                )
            }
            try await wire.send("welcome;")
            try await wire.rest()
        }
        let objects = LiveObjects()
        defer { objects.stop() }
        try await DaemonHarness.run(
            channels: "chat: { upstream: 'http://127.0.0.1:\(origin.port)' }",
            root: "connect: ['127.0.0.1:\(origin.port)']"
        ) { proxy in
            await proxy.count(in: objects)
            let address = "127.0.0.1:\(origin.port)"
            let connect = "CONNECT \(address) HTTP/1.1\r\nHost: \(address)\r\n\r\n"
            let upgrade = Raw.get("/chat/", "Connection: Upgrade", "Upgrade: websocket")
            for _ in 0..<FreedObjectsStory.repetitions {
                let app = try await proxy.connect()
                try await app.send(way == "upgrade" ? upgrade : connect)
                try await app.read(through: "welcome;")
                try await app.close()
            }
            #expect(await remains(objects) == [:])
            #expect(objects.known.contains("Tunnel"))
        }
    }
}
