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
@Suite(.timeLimit(.minutes(1))) struct HTTP2TransportTests {
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

    @Test func `a canceled caller resets only its own stream`() async throws {
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
    func `a refused stream is one attempt, which any method may repeat`(method: HTTPMethod)
        async throws
    {
        let arrived = Mutex(0)
        let origin = try await OriginServer.startHTTP2 { peer, message in
            arrived.withLock { $0 += 1 }
            try await peer.reset(message.stream, .refusedStream)
        }
        let refused = request(origin, method: method, body: .bytes(ByteSlice("once")))
        let transport = try transport()
        var context = RequestContext()
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, refused, &context)
        }
        #expect(error?.retry == .safe && error?.kind == .connectionTerminated)
        #expect(context.attempts == 1 && arrived.withLock { $0 } == 1)
    }

    @Test(arguments: [1, 3, 10]) func `a burst on a new connection never exceeds its stream limit`(
        limit: Int
    ) async throws {
        let most = Mutex(0)
        let origin = try await OriginServer.start { wire in
            // The settings arrive after the first request.
            var limits = HTTP2Limits()
            limits.streams = limit
            let peer = HTTP2Peer(wire, as: .server, limits: limits)
            var waiting: [Int32] = []
            while let message = try await peer.next() {
                waiting.append(message.stream)
                most.withLock { $0 = max($0, waiting.count) }
                if waiting.count < limit, message.target != "/first" { continue }
                for stream in waiting { try await peer.respond(to: stream, 200, [:], "served") }
                waiting = []
            }
        }
        let transport = try transport { $0.connections = 1 }
        let served = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var context = RequestContext()
                let first = request(origin, "/first", method: .post)
                let answer = try await text(of: transport, first, &context)
                #expect(answer == "200 served")
                return context.attempts
            }
            for number in 0..<(3 * limit) {
                group.addTask {
                    var context = RequestContext()
                    let post = request(origin, "/\(number)", method: .post)
                    let answer = try await text(of: transport, post, &context)
                    #expect(answer == "200 served")
                    return context.attempts
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(served == 3 * limit + 1)
        #expect(most.withLock { $0 } <= limit)
    }

    @Test func `requests wait at most a second for settings that never arrive`() async throws {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            var waiting: [Int32] = []
            while waiting.count < 3 {
                try await peer.receiveOnly { $0.begun.count > waiting.count }
                waiting = peer.begun
            }
            for stream in waiting { try await peer.respond(to: stream, 200, [:], "served") }
            _ = try await peer.next()
        }
        let transport = try transport { $0.connections = 1 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<3 {
                group.addTask {
                    let answer = try await text(of: transport, request(origin, "/\(number)"))
                    #expect(answer == "200 served")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a stream reset for calm before the settings were acknowledged is a refusal`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            // ENHANCE_YOUR_CALM for the first stream, without settings.
            try await peer.receiveOnly { !$0.begun.isEmpty }
            try await peer.raw([0, 0, 0, 4, 0, 0, 0, 0, 0])
            try await peer.raw([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 11])
            _ = try await wire.rest()
        }
        let transport = try transport()
        let post = request(origin, method: .post, body: .bytes(ByteSlice("once")))
        let error = await #expect(throws: NetworkError.self) { try await text(of: transport, post) }
        #expect(error?.retry == .safe)
    }

    @Test(arguments: [UpstreamOptions.HTTPVersions.http1, .http2])
    func `a call given up in silence leaves its connection to the origin`(
        versions: UpstreamOptions.HTTPVersions
    ) async throws {
        // The first connection carries nothing after its first response.
        let origin = try await OriginServer.start { wire in
            if versions == .http1 {
                while let request = try await wire.next() {
                    if wire.number == 0, request.startLine.contains("/stuck") { break }
                    try await wire.send(Raw.ok("here"))
                }
            } else {
                let peer = HTTP2Peer(wire, as: .server)
                try await peer.flush()
                while let message = try await peer.next() {
                    if wire.number == 0, message.target == "/stuck" { break }
                    try await peer.respond(to: message.stream, 200, [:], "here")
                }
            }
            _ = try await wire.rest()
        }
        let transport = try transport { $0.versions = versions }
        #expect(try await text(of: transport, request(origin)) == "200 here")
        var context = RequestContext(deadline: .now + .seconds(1))
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, request(origin, "/stuck"), &context)
        }
        #expect(error?.kind == .httpResponseTimeout)
        for _ in 0..<3 {
            var context = RequestContext(deadline: .now + .seconds(20))
            #expect(try await text(of: transport, request(origin, "/next"), &context) == "200 here")
        }
        #expect(origin.connections.count == 2)
    }

    @Test func `a connection in doubt that acknowledges a PING serves again`() async throws {
        let origin = try await OriginServer.start { wire in
            let peer = HTTP2Peer(wire, as: .server)
            try await peer.flush()
            while let message = try await peer.next() {
                if message.target == "/slow" { continue }
                try await peer.respond(to: message.stream, 200, [:], "\(wire.number)")
            }
        }
        let transport = try transport { $0.connections = 1 }
        #expect(try await text(of: transport, request(origin)) == "200 0")
        var context = RequestContext(deadline: .now + .milliseconds(700))
        await #expect(throws: NetworkError.self) {
            try await text(of: transport, request(origin, "/slow"), &context)
        }
        // The only connection passes its test, so the request need not wait for another one.
        #expect(try await text(of: transport, request(origin)) == "200 0")
    }

    @Test(arguments: [0, 5, 20_000])
    func `a response of a known length is complete although its stream does not end`(
        length: Int
    ) async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            try await peer.beginResponse(to: message.stream, length: length)
            try await peer.send(String(repeating: "x", count: length), on: message.stream)
        }
        let transport = try transport()
        let answer = try await text(of: transport, request(origin))
        #expect(answer == "200 " + String(repeating: "x", count: length))
    }

    @Test func `interim responses do not extend the limit of the response`() async throws {
        let origin = try await OriginServer.startHTTP2 { peer, message in
            while true {
                try await peer.interim(103, on: message.stream)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        let transport = try transport { $0.responseTimeout = .milliseconds(100) }
        let error = await #expect(throws: NetworkError.self) {
            try await text(of: transport, request(origin))
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(error?.detail.contains("responseTimeout") == true)
    }

    @Test(
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

    @Test func `a failed dial leaves its place to the next request`() async throws {
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
        let transport = try transport {
            $0.pingInterval = .milliseconds(400)
            $0.peerSilence = .milliseconds(400)
        }
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
        let transport = try transport {
            $0.pingInterval = .milliseconds(500)
            $0.peerSilence = .seconds(10)
        }
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
