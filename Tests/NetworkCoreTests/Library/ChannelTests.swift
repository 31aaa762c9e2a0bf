import Foundation
import Logging
import NetworkCore
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

@Suite struct ChannelTests {
    private let stub = StubTransport { _ in .status(204) }
    private let token = StaticAuthorizer.bearer(Secret("t"))

    @Test func `a channel's credential goes where an endpoint wants it`() async throws {
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: token))
        try await manager.send(.account)
        try await manager.send(.list)
        try await manager.send(.login)
        #expect(stub.requests.map(\.authorization) == ["Bearer t", "Bearer t", nil])
        var options = CallOptions()
        options.authorization = AuthorizationRequirement.none
        try await manager.send(.list, options: options)
        #expect(stub.requests[3].authorization == nil)
    }

    @Test func `without an authorizer only what requires one is refused`() async throws {
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        try await manager.send(.list)
        try await manager.send(.login)
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.account) }
        #expect(error?.kind == .reauthorizationRequired)
        #expect(stub.requests.count == 2)
    }

    @Test func `who is not signed in goes without where that is optional`() async throws {
        let signedOut = FailingAuthorizer(kind: .reauthorizationRequired)
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: signedOut))
        try await manager.send(.list)
        #expect(stub.requests.map(\.authorization) == [nil])
        await #expect(throws: NetworkError.self) { try await manager.send(.account) }
        #expect(stub.requests.count == 1)
    }

    @Test func `a credential out of reach is an error even where it is optional`() async throws {
        let broken = FailingAuthorizer(kind: .credentialUnavailable)
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: broken))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.interceptor == "AuthorizationInterceptor")
        #expect(stub.requests.isEmpty)
    }

    @Test func `a request for another host leaves neither signed nor unsigned`() async throws {
        var channel = NetworkChannel.stubbed(stub, authorizer: token)
        channel.host = "api.example.com"
        let manager = NetworkManager<PathEndpoint>(channel)
        try await manager.send(PathEndpoint("/x", of: "https://API.example.com"))
        for base: BaseURL in [
            "https://evil.example", "https://api.example.com.evil.example",
            "https://api.example.com:8443", "https://evil.example/api.example.com",
        ] {
            for requirement in AuthorizationRequirement.allCases {
                let error = await #expect(throws: NetworkError.self) {
                    try await manager.send(
                        PathEndpoint("/x", of: base, authorization: requirement)
                    )
                }
                #expect(error?.kind == .httpRequestDenied)
            }
        }
        #expect(stub.requests.count == 1)
    }

    @Test func `an interceptor cannot carry the credential to another host`() async throws {
        var channel = NetworkChannel.stubbed(
            stub,
            authorizer: token,
            interceptors: [
                .adapting { $0.origin = Origin(scheme: .https, host: "evil.example") }
            ]
        )
        channel.host = "api.example.com"
        await #expect(throws: NetworkError.self) {
            try await NetworkManager<OrderEndpoint>(channel).send(.list)
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func `a credential does not go in the clear, except to this machine`() async throws {
        var channel = NetworkChannel.stubbed(stub, authorizer: token)
        let endpoint = PathEndpoint("/x", of: "http://api.example.com")
        await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        }
        #expect(stub.requests.isEmpty)
        try await NetworkManager(channel).send(PathEndpoint("/x", of: "http://127.0.0.1:1"))
        channel.allowsInsecureCredentials = true
        try await NetworkManager(channel).send(endpoint)
        #expect(stub.requests.count == 2)
    }

    @Test func `features of a channel share what it fixes`() async throws {
        let events = Mutex<[String]>([])
        var channel = NetworkChannel.stubbed(stub, authorizer: token)
        channel.onEvent = { event in
            if case .received(let exchange) = event {
                events.withLock { $0.append(exchange.endpoint) }
            }
        }
        let orders = ChannelNetworker<OrderEndpoint>(channel)
        let other = ChannelNetworker<PathEndpoint>(channel)
        _ = try await orders.request(.list, as: NoContent.self)
        _ = try await other.request(
            PathEndpoint("/x", of: "https://api.example.com"),
            as: NoContent.self
        )
        #expect(
            events.withLock { $0 } == [
                "GET https://api.example.com/v1/orders", "GET https://api.example.com/x",
            ]
        )
        other.networkManager = NetworkManager(stubbing: channel)
        await #expect(throws: NetworkError.self) {
            try await other.request(
                PathEndpoint("/x", of: "https://api.example.com"),
                as: NoContent.self
            )
        }
        #expect(stub.requests.count == 2)
    }

    /// What a channel's own module has: host, logger and interceptor, fixed for all of its features.
    private class ShopNetworker<Item: Endpoint>: ChannelNetworker<Item> {
        init(_ transport: any HTTPTransport, _ logger: any NetworkLogger) {
            super.init(
                transport: transport,
                host: "api.example.com",
                interceptors: [
                    DefaultHeadersInterceptor(defaults: [.userAgent("shop/1")].compactMap(\.self))
                ],
                logger: logger
            )
        }
    }

    private final class OrderNetworker: ShopNetworker<OrderEndpoint> {
        func order(_ id: Int, _ completion: @escaping @Sendable (Order?) -> Void) -> CallHandle {
            request(.order(id), as: Order.self) { completion(try? $0.get()) }
        }
    }

    private struct ListLogger: NetworkLogger {
        let note: @Sendable (NetworkEvent) -> Void
        func log(_ event: NetworkEvent) { note(event) }
    }

    @Test func `a channel's class fixes host, logger and interceptor for its features`()
        async throws
    {
        let logged = Mutex(0)
        let logger = ListLogger { _ in logged.withLock { $0 += 1 } }
        stub.answer(.get, "/v1/orders/7", with: .json(#"{"id":7,"name":"lamp"}"#))
        let orders = OrderNetworker(stub, logger)
        let found = Mutex<Order?>(nil)
        await orders.order(7) { order in found.withLock { $0 = order } }.finished()
        #expect(found.withLock { $0?.id } == 7)
        #expect(stub.requests.first?.request.headers[.userAgent] == "shop/1")
        #expect(logged.withLock { $0 } == 2)
        let other = ShopNetworker<PathEndpoint>(stub, logger)
        let error = await #expect(throws: NetworkError.self) {
            try await other.request(PathEndpoint("/x", of: "https://b.example"), as: NoContent.self)
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(stub.requests.count == 1)
    }

    @Test func `a trust policy becomes the transport's options`() async throws {
        #expect(throws: NetworkError.self) {
            try NetworkChannel(host: "a.example", trust: .authorities("/nowhere.pem"))
        }
        _ = try NetworkChannel(
            host: "a.example",
            trust: .pinned(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
        )
    }

    @Test func `a call on a kept connection ends at its timeout, and keeps what it learnt`()
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

    @Test func `a call goes over a socket from any executor`() async throws {
        let origin = try await OriginServer.start { request in
            request.startLine.hasPrefix("POST")
                ? "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"id\":1,\"name\":\"w\"}"
        }
        let channel = try NetworkChannel(host: "127.0.0.1:\(origin.port)", authorizer: token)
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

    @Test func `a cancelled call ends while its body waits for an origin that does not read`()
        async throws
    {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "\r\n\r\n")
            begun.open()
            // As long as the test lasts.
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
        // Not the idle timeout's minute, nor the origin's ten seconds.
        #expect(ContinuousClock.now - begin < .seconds(8))
    }

    @Test func `a call that is cancelled before it is sent is not sent`() async throws {
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
        // The connection is as good as before.
        _ = try await transport.send(request, context: &context)
        #expect(context.isConnectionReused)
        #expect(origin.requests.count == 2)
        #expect(origin.connections.count == 1)
    }

    @Test func `a call over a socket ends at its timeout, and its connection with it`()
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

    @Test(arguments: [["abc"], ["abc", "", "def"], []])
    func `a body of another length than announced ends its connection`(
        pieces: [String]
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let transport = try PooledTransport()
        let base = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        var context = RequestContext()
        await #expect(throws: NetworkError.self) {
            _ = try await transport.send(
                Request(
                    method: .put,
                    origin: base,
                    target: "/1",
                    headers: [:],
                    body: .stream(PiecedBody(pieces), length: 5)
                ),
                context: &context
            )
        }
        #expect(origin.requests.isEmpty)
        #expect(origin.connections.allSatisfy { !$0.received.contains("def") })
    }

    @Test func `an empty piece is no end of a chunked body`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let base = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        var context = RequestContext()
        _ = try await transport.send(
            Request(
                method: .put,
                origin: base,
                target: "/1",
                headers: [:],
                body: .stream(PiecedBody(["ab", "", "cd"]), length: nil)
            ),
            context: &context
        )
        #expect(origin.requests.map(\.body) == ["abcd"])
    }

    @Test func `a transport that is dropped closes its connections`() async throws {
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

/// Has no credential.
private struct FailingAuthorizer: Authorizing {
    let failure: NetworkError
    var kind: String { "test" }
    var fieldName: HTTPFieldName { .authorization }

    init(kind: ErrorKind) {
        failure = NetworkError(kind, side: .proxy, retry: .safe, detail: "no token")
    }

    func currentCredential() -> Credential? { nil }
    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        throw failure
    }
    func rejected(_ rejection: Rejection) async -> Verdict { .passThrough(.staticCredential) }
}

@Suite struct LoggingTests {
    /// Keeps what a logger writes.
    private final class Lines: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }
        func add(_ line: String) { list.withLock { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = metadata.merging(event.metadata ?? [:]) { $1 }
                .sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            lines.add("\(event.level) \(event.message) \(facts.joined(separator: " "))")
        }
    }

    private func logged(
        _ stub: StubTransport,
        _ call: (NetworkManager<PathEndpoint>) async throws -> Void
    ) async -> [String] {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in Handler(lines: lines) }
        var channel = NetworkChannel.stubbed(
            stub,
            authorizer: StaticAuthorizer.bearer(Secret("secret-token"))
        )
        channel.logger = SwiftLogNetworkLogger(logger)
        try? await call(NetworkManager(channel))
        return lines.all
    }

    private let endpoint = PathEndpoint(
        "/x",
        of: "https://a.example",
        task: .query(["token": "secret-query", "page": "1"] as QueryItems),
        headers: ["X-Api-Key": "secret-key", .accept: "*/*"]
    )

    @Test func `a call is a start and an end with facts, and no secret`() async throws {
        let lines = await logged(StubTransport { _ in .json("[1]") }) {
            try await $0.send(endpoint)
        }
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("trace request started"))
        #expect(lines[1].hasPrefix("debug response received"))
        for fact in [
            "status=200", "bytes=3", "attempts=1", "method=GET", "host=a.example", "path=/x",
            "duration_ms=", "request_id=", "endpoint=GET https://a.example/x",
        ] {
            #expect(lines[1].contains(fact), "\(fact)")
        }
        #expect(!lines.joined().contains("secret"))
        #expect(lines[0].contains("page=1"))
    }

    @Test func `failures and undecodable content are told apart`() async throws {
        let failed = await logged(StubTransport { _ in .json("{}", status: 404) }) {
            try await $0.send(endpoint)
        }
        #expect(failed.last?.contains("request failed") == true)
        #expect(failed.last?.contains("error=unacceptable_response") == true)
        #expect(failed.last?.contains("status=404") == true)
        let undecodable = await logged(StubTransport { _ in .json("{}") }) {
            _ = try await $0.request(endpoint, as: Order.self)
        }
        #expect(undecodable.last?.contains("content not decodable") == true)
    }

    @Test func `a logger is labelled by subsystem and category`() {
        let lines = Lines()
        let logger = SwiftLogNetworkLogger(subsystem: "com.example.orders", category: "network")
        let label = Mirror(reflecting: logger).descendant("logger") as? Logger
        #expect(label?.label == "com.example.orders.network")
        #expect(label?[metadataKey: "subsystem"] == "com.example.orders")
        #expect(lines.all.isEmpty)
    }

    @Test func `a request renders as a curl command without its credentials`() throws {
        let request = try RequestBuilder("https://a.example").path("/it's").method(.put)
            .query(["sig": "s3cret", "a": "b"]).header("Authorization", "Bearer s3cret")
            .header("Cookie", "s3cret").json(["k": "it's"]).build()
        #expect(
            request.curlCommand() == """
                curl -X PUT -H 'Authorization: <redacted>' -H 'Cookie: <redacted>' \
                -H 'Content-Type: application/json' --data-binary @- \
                'https://a.example/it'\\''s?sig=<redacted>&a=b'
                """
        )
        #expect(request.curlCommand(body: .shown).contains(#"--data-raw '{"k":"it'\''s"}'"#))
    }

    @Test func `events carry what metrics and tracing need`() async throws {
        let seen = Mutex<[NetworkExchange]>([])
        let stub = StubTransport()
        stub.answer(.get, "/x", with: .status(503), .json("[]"))
        var channel = NetworkChannel.stubbed(stub)
        channel.onEvent = { event in seen.withLock { $0.append(event.exchange) } }
        try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        let exchanges = seen.withLock { $0 }
        #expect(exchanges.count == 2)
        #expect(exchanges[0].context.requestID == exchanges[1].context.requestID)
        #expect(exchanges[0].status == nil)
        #expect(exchanges[1].status == 200)
        #expect(exchanges[1].context.attempts == 2)
        #expect(exchanges[1].context.retries == [.status(503)])
        #expect(exchanges[1].contentLength == 2)
    }
}
