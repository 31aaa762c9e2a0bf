import NetworkClient
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of calls over real sockets.
@Suite struct PooledTransportTests {
    @Test func `a call on a reused connection ends at its timeout and keeps its facts`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                guard !request.startLine.contains("/never") else { continue }
                try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let facts = Mutex<RequestContext?>(nil)
        var channel = NetworkChannel(transport: try PooledTransport())
        channel.onEvent = { event in
            if case .failed(let exchange, _) = event { facts.withLock { $0 = exchange.context } }
        }
        let manager = NetworkManager<PathEndpoint>(channel)
        let first = PathEndpoint("/", of: base, timeout: .seconds(60))
        #expect(try await manager.response(for: first).text == "ok")
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/never", of: base, timeout: .milliseconds(50)))
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(error?.source == .transport)
        let context = try #require(facts.withLock { $0 })
        #expect(context.attempts == 1)
        #expect(context.isConnectionReused)
        #expect(try await manager.response(for: first).context.isConnectionReused == false)
    }

    @Test func `a call uses the proxy of its transport`() async throws {
        let hop = try await OriginServer.start { Raw.ok($0.startLine) }
        var options = UpstreamOptions()
        options.proxy = try ParentProxy(
            host: "127.0.0.1",
            port: UInt16(hop.port),
            username: "me",
            password: Secret("c4nary")
        )
        let channel = NetworkChannel(transport: try PooledTransport(options: options))
        let endpoint = PathEndpoint("/a", of: "http://api.example:81")
        let response = try await NetworkManager<PathEndpoint>(channel).response(for: endpoint)
        #expect(response.text == "GET http://api.example:81/a HTTP/1.1")
        #expect(hop.requests.first?["Proxy-Authorization"] == "Basic bWU6YzRuYXJ5")
        #expect(throws: NetworkError.self) {
            try ParentProxy(host: "proxy.example", port: 1, username: "a:b", password: Secret("c"))
        }
    }

    @Test func `a call over a socket works from any executor`() async throws {
        let origin = try await OriginServer.start { request in
            request.startLine.hasPrefix("POST")
                ? "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"id\":1,\"name\":\"w\"}"
        }
        let channel = try NetworkChannel(
            host: "127.0.0.1:\(origin.port)",
            authorizer: try StaticAuthorizer.bearer(Secret("t"))
        )
        let manager = NetworkManager<PathEndpoint>(channel)
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let order = try await manager.request(
            PathEndpoint("/orders/1", of: base),
            as: Order.self,
            options: CallOptions(timeout: .seconds(120))
        )
        #expect(order == Order(id: 1, name: "w"))
        try await manager.send(
            PathEndpoint("/orders", of: base, method: .post, task: .json(order))
        )
        try await onMainActor(manager, PathEndpoint("/orders/1", of: base))
        #expect(origin.requests.allSatisfy { $0["Authorization"] == "Bearer t" })
        #expect(origin.requests.count == 3)
    }

    @Test func `a canceled call ends while its origin does not read the body`()
        async throws
    {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            begun.open()
            // Until the test ends.
            try? await Gate().wait()
        }
        let transport = try PooledTransport()
        let port = UInt16(origin.port)
        let call = Task {
            var context = RequestContext()
            let body = ByteSlice([UInt8](repeating: 0x78, count: 64 << 20))
            _ = try await transport.send(
                Request(
                    method: .put,
                    origin: Origin(scheme: .http, host: "127.0.0.1", port: port),
                    target: "/1",
                    body: .bytes(body)
                ),
                context: &context
            )
        }
        try await begun.wait()
        let begin = ContinuousClock.now
        call.cancel()
        await #expect(throws: NetworkError.self) { try await call.value }
        // Less than the idle timeout of a minute, and than the origin's timeout.
        #expect(ContinuousClock.now - begin < .seconds(8))
    }

    @Test func `the error of a call that ends early tells whether it was sent`() async throws {
        let asked = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            asked.open()
            try await wire.rest()
        }
        var options = UpstreamOptions()
        options.connections = 1
        let transport = try PooledTransport(options: options)
        let request = Request(
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/"
        )
        func send(within time: Duration) async -> NetworkError? {
            var context = RequestContext(deadline: .now + time)
            return await #expect(throws: NetworkError.self) {
                _ = try await transport.send(request, context: &context)
            }
        }
        let sent = Task { await send(within: .seconds(600)) }
        try await asked.wait()
        // It waits for the only connection, which the other request uses.
        #expect(await send(within: .milliseconds(20))?.retry == .safe)
        #expect(await send(within: .zero)?.retry == .safe)
        sent.cancel()
        #expect(await sent.value?.retry == .unsafe)
    }

    @Test func `a call canceled before it is sent is not sent`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let request = Request(
            method: .post,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/1"
        )
        var context = RequestContext()
        _ = try await transport.send(request, context: &context)
        let call = Task {
            while !Task.isCancelled { await Task.yield() }
            var context = RequestContext()
            _ = try await transport.send(request, context: &context)
        }
        call.cancel()
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        // The connection is still usable.
        _ = try await transport.send(request, context: &context)
        #expect(context.isConnectionReused)
        #expect(origin.requests.count == 2)
        #expect(origin.connections.count == 1)
    }

    @Test(arguments: ["chat/2 , websocket", "WebSocket\t,chat", "websocket"])
    func `spaces in the offer do not affect the agreed protocol`(offer: String) async throws {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                    + "Upgrade: websocket\r\n\r\n"
            )
        }
        let transport = try PooledTransport()
        let request = Request(
            method: .get,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/",
            headers: [.upgrade: offer]
        )
        var context = RequestContext()
        let response = try await transport.send(request, context: &context)
        #expect(response.status == 101)
    }

    @Test func `a call over a socket ends at its timeout and closes its connection`()
        async throws
    {
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {}
            ended.open()
        }
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport())
        )
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(
                PathEndpoint("/", of: base),
                options: CallOptions(timeout: .milliseconds(50))
            )
        }
        #expect(error?.kind == .httpResponseTimeout)
        try await ended.wait()
    }

    @Test func `a failure response with stalled content ends at the timeout`() async throws {
        let ended = Gate()
        let origin = try await OriginServer.start { wire in
            _ = try await wire.next()
            try await wire.send(
                "HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n2\r\noh\r\n"
            )
            while try await wire.next() != nil {}
            ended.open()
        }
        let clock = ManualClock()
        var channel = NetworkChannel(transport: try PooledTransport())
        channel.clock = clock
        let manager = NetworkManager<PathEndpoint>(channel)
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let call = Task {
            try await manager.send(PathEndpoint("/", of: base, timeout: .seconds(60)))
        }
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.response?.status == 500)
        #expect(error?.response?.isTruncated == true)
        // The connection is closed as well.
        try await ended.wait()
    }

    @Test(arguments: ["/a b", "/\r\nX: y", "/ä", "", "a", "*", "/#a"])
    func `a target that does not fit a request line is an error, not a trap`(
        target: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport())
        )
        let base = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.perform(Request(origin: base, target: target))
        }
        #expect(error?.kind == .httpRequestError)
        let odd = Origin(scheme: .http, host: "127.0.0.1\0\r\n", port: UInt16(origin.port))
        let host = await #expect(throws: NetworkError.self) {
            try await manager.perform(Request(origin: odd, target: "/"))
        }
        #expect(host?.kind == .httpRequestError)
        #expect(origin.connections.isEmpty)
    }

    @Test func `two tasks that read the same content are an error, not a trap`() async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            }
        }
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport())
        )
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let stream = try await manager.stream(PathEndpoint("/", of: base))
        let readers = (1...2).map { _ in
            Task { for try await _ in stream.bytes {} }
        }
        // The refused reader ends by itself, the other one with its content.
        let outcomes = await withTaskGroup(of: NetworkError?.self) { group in
            for reader in readers { group.addTask { await reader.result.failure } }
            let first = await group.next() ?? nil
            for reader in readers { reader.cancel() }
            let second = await group.next() ?? nil
            return [first?.kind, second?.kind]
        }
        #expect(outcomes == [.httpRequestError, .cancelled])
    }

    @MainActor
    private func onMainActor(
        _ manager: NetworkManager<PathEndpoint>,
        _ endpoint: PathEndpoint
    ) async throws {
        let stream = try await manager.stream(endpoint)
        var count = 0
        for try await piece in stream.bytes { count += piece.count }
        #expect(count == 19)
    }
}

extension Result {
    fileprivate var failure: NetworkError? {
        if case .failure(let error) = self { error as? NetworkError } else { nil }
    }
}

private struct Order: Codable, Sendable, Hashable {
    let id: Int
    let name: String
}
