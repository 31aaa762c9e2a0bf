import NetworkClient
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

@Suite struct ChannelTests {
    private let stub = StubTransport { _ in .status(204) }
    private let token: StaticAuthorizer

    init() throws {
        token = try StaticAuthorizer.bearer(Secret("t"))
    }

    @Test func `the endpoint decides whether the channel's credential is sent`() async throws {
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: token))
        try await manager.send(.account)
        try await manager.send(.list)
        try await manager.send(.login)
        #expect(stub.requests.map(\.authorization) == ["Bearer t", "Bearer t", nil])
        var options = CallOptions()
        options.authorization = .never
        try await manager.send(.list, options: options)
        #expect(stub.requests[3].authorization == nil)
    }

    @Test func `without an authorizer only calls that require one are refused`() async throws {
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        try await manager.send(.list)
        try await manager.send(.login)
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.account) }
        #expect(error?.kind == .reauthorizationRequired)
        #expect(stub.requests.count == 2)
    }

    @Test func `an optional call is sent unsigned if no one is signed in`() async throws {
        let signedOut = FailingAuthorizer(kind: .reauthorizationRequired)
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: signedOut))
        try await manager.send(.list)
        #expect(stub.requests.map(\.authorization) == [nil])
        await #expect(throws: NetworkError.self) { try await manager.send(.account) }
        #expect(stub.requests.count == 1)
    }

    @Test func `an unavailable credential is an error even for an optional call`() async throws {
        let broken = FailingAuthorizer(kind: .credentialUnavailable)
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub, authorizer: broken))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        #expect(error?.kind == .credentialUnavailable)
        #expect(error?.interceptor == "AuthorizationInterceptor")
        #expect(stub.requests.isEmpty)
    }

    @Test func `a request for another host is not sent, signed or unsigned`() async throws {
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

    @Test func `an IPv6 host may have brackets or not`() async throws {
        for host in ["::1", "[::1]", "[0:0::1]:8080"] {
            var channel = NetworkChannel.stubbed(stub)
            channel.host = host
            let base = BaseURL(host.hasSuffix(":8080") ? "http://[::1]:8080" : "http://[::1]")
            try await NetworkManager<PathEndpoint>(channel).send(PathEndpoint("/x", of: base))
        }
        #expect(stub.requests.count == 3)
    }

    @Test func `the error of an invalid host contains it`() async throws {
        var channel = NetworkChannel.stubbed(stub)
        channel.host = "https://api.example.com"
        let manager = NetworkManager<PathEndpoint>(channel)
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/x", of: "https://api.example.com"))
        }
        #expect(
            error?.detail == "the channel's host 'https://api.example.com' is not valid: "
                + "expected host or host:port, without a scheme or a path"
        )
    }

    @Test(
        arguments: [
            (nil, "the credential is for https://api.example.com, the request for "),
            ("api.example.com", "the channel is for api.example.com, the request for "),
        ] as [(String?, String)]
    )
    func `an interceptor cannot send the credential to another host`(
        host: String?,
        reason: String
    ) async throws {
        var channel = NetworkChannel.stubbed(
            stub,
            authorizer: token,
            interceptors: [
                .adapting { $0.origin = Origin(scheme: .https, host: "evil.example") }
            ]
        )
        channel.host = host
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<OrderEndpoint>(channel).send(.list)
        }
        #expect(error?.kind == .httpRequestDenied)
        #expect(error?.detail == reason + "https://evil.example")
        #expect(stub.requests.isEmpty)
    }

    @Test func `a credential is not sent in the clear, except to this machine`() async throws {
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

    @Test func `networkers of a channel share its configuration`() async throws {
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

    /// The networker of a channel's own module, with host, logger and interceptor for all its features.
    private class ShopNetworker<Item: Endpoint>: ChannelNetworker<Item> {
        init(_ transport: any HTTPTransport, _ logger: any NetworkLogger) {
            super.init(
                transport: transport,
                host: "api.example.com",
                interceptors: [DefaultHeadersInterceptor(defaults: [.userAgent: "shop/1"])],
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

    @Test func `a channel's class sets host, logger and interceptor for its features`()
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

    @Test(arguments: [
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256/AAAA", "sha256/",
        "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
        "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ])
    func `an invalid pin is refused when the channel is created`(pin: String) {
        let error = #expect(throws: NetworkError.self) {
            try NetworkChannel(host: "a.example", trust: .pinned([pin]))
        }
        #expect(
            error?.detail == "UpstreamOptions.pins: "
                + "expected sha256/ and the base64 of 32 bytes, found '\(pin)'"
        )
    }

    @Test func `invalid options are refused when the transport is created`() {
        let wrongs: [(String, (inout UpstreamOptions) -> Void)] = [
            ("connections: expected at least 1, found '0'", { $0.connections = 0 }),
            (
                "certificateKey: expected the file that goes with the other, found 'nothing'",
                { $0.certificate = "/etc/hostname" }
            ),
            (
                "certificate: expected the file that goes with the other, found 'nothing'",
                { $0.certificateKey = "/etc/hostname" }
            ),
        ]
        for (words, change) in wrongs {
            var options = UpstreamOptions()
            change(&options)
            let error = #expect(throws: NetworkError.self) { try PooledTransport(options: options) }
            #expect(error?.detail == "UpstreamOptions.\(words)")
        }
    }

    @Test func `the error of a missing file contains the system's message`() {
        let error = #expect(throws: NetworkError.self) {
            try PooledTransport(trust: .authorities("/nowhere.pem"))
        }
        #expect(
            error?.detail == "the CA file /nowhere.pem cannot be used: No such file or directory"
        )
    }
}

/// An authorizer without a credential.
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
