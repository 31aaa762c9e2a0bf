import FoundationEssentials
import NetproxyEventIO
import NetworkClient
import OriginTransport
import TestSupport
import Testing

/// Tests that a transport closes everything it opens.
@Suite struct TransportLifeTests {
    @Test func `a transport that fails to initialize leaves no thread running`() throws {
        let directory = "/proc/self/task"
        let before = try FileManager.default.contentsOfDirectory(atPath: directory).count
        var options = UpstreamOptions()
        options.authorities = "/nowhere"
        for _ in 0..<200 {
            #expect(throws: NetworkError.self) { try PooledTransport(options: options) }
        }
        // Threads of other tests start and end meanwhile.
        let after = try FileManager.default.contentsOfDirectory(atPath: directory).count
        #expect(after < before + 100)
    }

    @Test func `a new connection replaces an idle one in a full pool`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        var options = UpstreamOptions()
        options.connections = 1
        options.queueLength = 0
        let transport = try PooledTransport(options: options)
        let request = Request(
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        for _ in 1...2 {
            var context = RequestContext()
            context.requiresFreshConnection = true
            _ = try await transport.send(request, context: &context).body.collect(upTo: 99)
            #expect(!context.isConnectionReused)
        }
        #expect(origin.connections.count == 2)
    }

    @Test func `a failed connection takes no place in the pool`() async throws {
        var options = UpstreamOptions()
        options.connections = 1
        options.queueLength = 0
        let transport = try PooledTransport(options: options)
        let port = UInt16(RefusingPort.any())
        let request = Request(
            origin: Origin(scheme: .http, host: "127.0.0.1", port: port),
            target: "/"
        )
        for _ in 1...3 {
            let error = await #expect(throws: NetworkError.self) {
                var context = RequestContext()
                _ = try await transport.send(request, context: &context)
            }
            #expect(error?.kind == .connectionRefused)
        }
    }

    @Test func `a burst waits for the available connections`() async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        var options = UpstreamOptions()
        options.connections = 2
        let base = BaseURL("http://127.0.0.1:\(origin.port)")
        let channel = NetworkChannel(transport: try PooledTransport(options: options))
        let manager = NetworkManager<PathEndpoint>(channel)
        let calls = 10_000
        let succeeded = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<calls {
                group.addTask {
                    try await manager.response(for: PathEndpoint("/", of: base)).status.rawValue
                }
            }
            return try await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
        }
        #expect(succeeded == calls)
        #expect(origin.connections.count == 2)
    }

    @Test func `only unused origins are evicted`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport(options: UpstreamOptions())
        func ask(_ host: String, _ port: Int) async throws -> RequestContext {
            var context = RequestContext()
            let origin = Origin(scheme: .http, host: host, port: UInt16(port))
            let request = Request(origin: origin, target: "/")
            _ = try await transport.send(request, context: &context).body.collect(upTo: 99)
            return context
        }
        _ = try await ask("127.0.0.1", origin.port)
        let port = RefusingPort.any()
        for number in 1...200 {
            await #expect(throws: NetworkError.self) { try await ask("127.0.1.\(number)", port) }
            #expect(transport.originCount <= 64)
        }
        #expect(try await ask("127.0.0.1", origin.port).isConnectionReused)
    }

    @Test func `the loop of a released transport ends after its last body`() async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                try await wire.send(String(repeating: "x", count: 100_000))
            }
        }
        weak var loop: EventLoop?
        do {
            let own = try EventLoop()
            try own.start()
            loop = own
            var manager: NetworkManager<PathEndpoint>? = NetworkManager(
                NetworkChannel(
                    transport: try PooledTransport(
                        options: UpstreamOptions(),
                        on: own,
                        .own
                    )
                )
            )
            let base: BaseURL = "http://127.0.0.1:\(origin.port)"
            let stream = try await manager?.stream(PathEndpoint("/", of: base))
            manager = nil
            var pieces = try #require(stream).bytes.makeAsyncIterator()
            var count = 0
            while let piece = try await pieces.next() { count += piece.count }
            #expect(count == 100_000)
            await own.waitUntilStopped()
            // After the end, a read needs neither the loop nor a wait.
            #expect(try await pieces.next() == nil)
            stream?.cancel()
        }
        #expect(await eventually { loop == nil })
    }

    @Test func `a closed tunnel of a released transport does not wait`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send(Self.switching)
            try await wire.rest()
        }
        let loop = try EventLoop()
        try loop.start()
        var transport: PooledTransport? = try PooledTransport(
            options: UpstreamOptions(),
            on: loop,
            .own
        )
        let request = Request(
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/",
            headers: [.upgrade: "chat"]
        )
        var context = RequestContext()
        let response = try await transport?.send(request, context: &context)
        guard case .tunnel(let stream) = response?.body else { throw WireError.ended }
        transport = nil
        stream.close()
        await loop.waitUntilStopped()
        let uses: [@Sendable () async throws -> Void] = [
            { _ = try await stream.read() },
            { try await stream.write(ByteSlice("more")) },
        ]
        for use in uses {
            let ended = Gate()
            let task = Task {
                defer { ended.open() }
                try await use()
            }
            // A wait on a stopped loop would never end.
            try await ended.wait()
            let error = await #expect(throws: NetworkError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
        }
    }

    private static let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n"

    private func tunnel(_ origin: OriginServer, _ transport: PooledTransport) async throws
        -> any DuplexStream
    {
        var request = Request(
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        request.headers = [.upgrade: "chat"]
        var context = RequestContext()
        let response = try await transport.send(request, context: &context)
        guard case .tunnel(let stream) = response.body else { throw WireError.ended }
        return stream
    }

    @Test func `a tunnel has one reader, and ends with a canceled task`() async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next(.none)
            try await wire.send(Self.switching)
            try await wire.rest()
        }
        let transport = try PooledTransport()
        let tunnel = try await tunnel(origin, transport)
        let reading = Task { try await tunnel.read() }
        // The second reader throws.
        let other = Task { try await tunnel.read() }
        let firstError = await withTaskGroup(of: NetworkError?.self) { group in
            for task in [reading, other] {
                group.addTask {
                    do {
                        _ = try await task.value
                        return nil
                    } catch {
                        return error as? NetworkError
                    }
                }
            }
            let first = await group.next() ?? nil
            reading.cancel()
            other.cancel()
            return first
        }
        #expect(firstError?.kind == .httpRequestError)
        let lateError = await #expect(throws: NetworkError.self) { try await tunnel.read() }
        #expect(lateError?.kind == .cancelled)
        try await origin.connections[0].closed.wait()
    }

    @Test func `a released transport closes its connections`() async throws {
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
            ended.open()
        }
        var manager: NetworkManager<PathEndpoint>? = NetworkManager(
            NetworkChannel(transport: try PooledTransport())
        )
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        try await manager?.send(PathEndpoint("/", of: base))
        manager = nil
        try await ended.wait()
    }
}
