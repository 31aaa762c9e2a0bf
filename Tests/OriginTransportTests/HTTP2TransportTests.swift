import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetworkClient
import NetworkCore
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of the library's transport with HTTP/2 origins.
@Suite struct HTTP2TransportTests {
    private func transport(_ change: (inout UpstreamOptions) -> Void = { _ in }) throws
        -> PooledTransport
    {
        var options = UpstreamOptions()
        options.versions = .http2
        change(&options)
        return try PooledTransport(options: options)
    }

    private func request(
        _ origin: OriginServer,
        _ target: String = "/",
        method: HTTPMethod = .get,
        body: HTTPBody = .empty
    ) -> Request {
        Request(
            method: method,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: target,
            body: body
        )
    }

    private func text(
        of transport: PooledTransport,
        _ request: Request,
        _ context: inout RequestContext
    ) async throws -> String {
        let response = try await transport.send(request, context: &context)
        let content = try await response.body.collect(upTo: 1 << 24)
        return "\(response.status.rawValue) \(String(decoding: content.array, as: UTF8.self))"
    }

    private func text(of transport: PooledTransport, _ request: Request) async throws -> String {
        var context = RequestContext()
        return try await text(of: transport, request, &context)
    }

    @Test func `a connection reset immediately fails its request immediately`() async throws {
        let origin = try await OriginServer.start { wire in try await wire.reset() }
        let transport = try transport()
        for _ in 0..<40 {
            let started = ContinuousClock.now
            var context = RequestContext(deadline: started + .seconds(60))
            await #expect(throws: NetworkError.self) {
                try await transport.send(request(origin), context: &context)
            }
            #expect(ContinuousClock.now - started < .seconds(30))
        }
    }

    @Test func `exchanges share one connection`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            try await peer.respond(to: message.stream, 200, [:], message.target)
        }
        let transport = try transport()
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<100 {
                group.addTask { try await text(of: transport, request(origin, "/\(number)")) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers == Set((0..<100).map { "200 /\($0)" }))
        #expect(origin.connections.count == 1)
    }

    @Test func `beyond the stream limit a connection is added, then requests wait`()
        async throws
    {
        let gate = Gate()
        let origin = try await OriginServer.start { wire in
            var limits = HTTP2Limits()
            limits.streams = 2
            let peer = HTTP2Peer(wire, as: .server, limits: limits)
            try await peer.flush()
            while let message = try await peer.next() {
                try await gate.wait()
                try await peer.respond(to: message.stream, 200, [:], message.target)
            }
        }
        let transport = try transport { $0.connections = 2 }
        // The limit is known once the settings have arrived.
        gate.open()
        #expect(try await text(of: transport, request(origin, "/first")) == "200 /first")
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<20 {
                group.addTask { try await text(of: transport, request(origin, "/\(number)")) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers.count == 20)
        #expect(origin.connections.count <= 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a canceled caller resets only its own stream`() async throws {
        let resets = Mutex<[Int32: HTTP2Code]>([:])
        let arrived = Gate()
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            let slow = try await peer.next()
            arrived.open()
            try await peer.receive { !$0.resets.isEmpty }
            resets.withLock { $0 = peer.resets }
            #expect(peer.resets[slow?.stream ?? 0] == .cancel)
            while let message = try await peer.next() {
                try await peer.respond(to: message.stream, 200, [:], "still here")
            }
        }
        let transport = try transport()
        let call = Task { try await text(of: transport, request(origin, "/slow")) }
        try await arrived.wait()
        call.cancel()
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(try await text(of: transport, request(origin, "/next")) == "200 still here")
        #expect(origin.connections.count == 1)
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `a refused stream is sent again for any method`(method: HTTPMethod) async throws {
        let refused = Mutex(false)
        let origin = try await OriginServer.startHTTP2 { peer, message in
            let isFirst = refused.withLock { was in
                defer { was = true }
                return !was
            }
            if isFirst { return try await peer.reset(message.stream, .refusedStream) }
            try await peer.respond(to: message.stream, 200, [:], message.body)
        }
        let body = HTTPBody.bytes(ByteSlice("once"))
        var context = RequestContext()
        let answer = try await text(
            of: try transport(),
            request(origin, method: method, body: body),
            &context
        )
        #expect(answer == "200 once")
        #expect(context.attempts == 2)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [.internalError, .cancel, .noError, .enhanceYourCalm] as [HTTP2Code]
    )
    func `a POST is not sent again after another reset`(code: HTTP2Code) async throws {
        let arrived = Mutex(0)
        let origin = try await OriginServer.startHTTP2 { peer, message in
            arrived.withLock { $0 += 1 }
            try await peer.reset(message.stream, code)
        }
        let post = request(origin, method: .post, body: .bytes(ByteSlice("once")))
        let transport = try transport()
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, post)
        }
        #expect(error?.kind == .connectionTerminated)
        #expect(error?.detail.contains(code.description) == true)
        #expect(arrived.withLock { $0 } == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a failed dial leaves its place to the next request`() async throws {
        let refusing = Request(
            method: .get,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(RefusingPort.any())),
            target: "/"
        )
        let transport = try transport { $0.connections = 1 }
        for _ in 0..<3 {
            var context = RequestContext(deadline: .now + .seconds(20))
            let error = await #expect(throws: NetworkError.self) {
                try await transport.send(refusing, context: &context)
            }
            #expect(error?.kind == .connectionRefused)
        }
    }

    @Test func `a request beyond the last stream of GOAWAY uses another connection`() async throws {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            while let message = try await peer.next() {
                if wire.number == 0, message.target == "/lost" {
                    // GOAWAY with 1 as the last stream.
                    try await peer.raw([0, 0, 8, 7, 0, 0, 0, 0, 0] + [0, 0, 0, 1, 0, 0, 0, 0])
                    continue
                }
                try await peer.respond(to: message.stream, 200, [:], "\(wire.number)")
            }
        }
        let transport = try transport()
        #expect(try await text(of: transport, request(origin, "/kept")) == "200 0")
        let lost = request(origin, "/lost", method: .post, body: .bytes(ByteSlice("x")))
        #expect(try await text(of: transport, lost) == "200 1")
    }

    @Test func `a slow reader fills its window and does not block other streams`() async throws {
        let sent = Mutex(0)
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            while let message = try await peer.next() {
                guard message.target == "/endless" else {
                    try await peer.respond(to: message.stream, 200, [:], "quick")
                    continue
                }
                try await peer.beginResponse(to: message.stream)
                try await peer.send(String(repeating: "x", count: 3 << 20), on: message.stream)
                sent.withLock { $0 = wire.number + 1 }
            }
        }
        let transport = try transport()
        var context = RequestContext()
        let endless = try await transport.send(request(origin, "/endless"), context: &context)
        for _ in 0..<20 {
            #expect(try await text(of: transport, request(origin, "/quick")) == "200 quick")
        }
        #expect(origin.connections.count == 1)
        guard case .stream(let source, _) = endless.body else {
            Issue.record("the content does not stream")
            return
        }
        var count = 0
        while count < 3 << 20, let piece = try await source.next() { count += piece.count }
        #expect(count == 3 << 20)
        source.cancel()
    }

    @Test func `content of any length is sent and received`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            try await peer.respond(to: message.stream, 200, [:], message.body, isChunked: true)
        }
        let transport = try transport()
        for length in [0, 1, 16_384, 65_535, 65_536, 1 << 20] {
            let body = String(repeating: "b", count: length)
            let parts = stride(from: 0, to: length, by: 10_000).map { start in
                String(repeating: "b", count: min(10_000, length - start))
            }
            let pieces = HTTPBody.stream(PiecedBody(parts), length: nil)
            let answer = try await text(of: transport, request(origin, method: .put, body: pieces))
            #expect(answer == "200 \(body)")
        }
        #expect(origin.connections.count == 1)
    }

    @Test func `a closed connection fails all its exchanges`() async throws {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            for _ in 0..<3 { _ = try await peer.next() }
            throw WireError.ended
        }
        let transport = try transport()
        await withTaskGroup(of: ErrorKind?.self) { group in
            for number in 0..<3 {
                group.addTask {
                    do {
                        _ = try await text(of: transport, request(origin, "/\(number)"))
                        return nil
                    } catch {
                        return (error as? NetworkError)?.kind
                    }
                }
            }
            for await kind in group { #expect(kind == .connectionTerminated) }
        }
    }

    @Test func `a response timeout ends only its stream`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            if message.target == "/never" { return }
            try await peer.respond(to: message.stream, 200, [:], "in time")
        }
        let transport = try transport()
        #expect(try await text(of: transport, request(origin, "/first")) == "200 in time")
        var context = RequestContext(deadline: .now + .milliseconds(100))
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, request(origin, "/never"), &context)
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(try await text(of: transport, request(origin, "/second")) == "200 in time")
        #expect(origin.connections.count == 1)
    }

    @Test func `a transport does not use HTTP/2 by default`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("plain") }
        let transport = try PooledTransport()
        #expect(try await text(of: transport, request(origin)) == "200 plain")
    }

    @Test func `an unresponsive origin is detected by PING`() async throws {
        // It reads, but no longer responds.
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            if let first = try await peer.next() {
                try await peer.respond(to: first.stream, 200, [:], "here")
            }
            _ = try await wire.rest()
        }
        let transport = try transport { $0.peerSilence = .milliseconds(400) }
        #expect(try await text(of: transport, request(origin, "/first")) == "200 here")
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, request(origin, "/second", method: .post))
        }
        #expect(error?.kind == .connectionTerminated)
        #expect(error?.detail.contains("PING") == true)
    }

    @Test func `a slow origin that acknowledges PING is alive`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            // It acknowledges PING meanwhile.
            let before = peer.pings
            try await peer.receive { $0.pings >= before + 1 }
            try await peer.respond(to: message.stream, 200, [:], "late")
        }
        // Long enough for an acknowledgment on a busy machine.
        let transport = try transport { $0.peerSilence = .seconds(2) }
        #expect(try await text(of: transport, request(origin)) == "200 late")
        #expect(origin.connections.count == 1)
    }

    @Test func `a connection closed by its origin is not reused`() async throws {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            guard let message = try await peer.next() else { return }
            try await peer.respond(to: message.stream, 200, [:], "\(wire.number)")
        }
        let transport = try transport()
        for number in 0..<20 {
            let post = request(origin, method: .post)
            #expect(try await text(of: transport, post) == "200 \(number)")
            // The close follows the response, and arrives before the next request.
            try await origin.connections[number].closed.wait()
        }
    }
}
