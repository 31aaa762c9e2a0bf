import Foundation
import NetworkClient
import NetworkTesting
import Synchronization
import TestSupport
import Testing

@Suite struct NetworkManagerTests {
    private let stub = StubTransport()
    private var manager: NetworkManager<OrderEndpoint> { NetworkManager(.stubbed(stub)) }

    @Test func `a request is sent and its content decoded`() async throws {
        stub.answer(.get, "/v1/orders/7", with: .json(#"{"id":7,"name":"x"}"#))
        let order: Order = try await manager.request(.order(7))
        #expect(order == Order(id: 7, name: "x"))
        #expect(stub.requests[0].request.origin.host == "api.example.com")
    }

    @Test func `the raw response contains status, fields and content`() async throws {
        stub.answer(.get, "/v1/orders", with: .json("[1,2]", status: 203))
        let response = try await manager.response(for: .list)
        #expect(response.status == 203)
        #expect(response.headers[.contentType] == "application/json")
        #expect(response.text == "[1,2]")
        #expect(response.data == Data("[1,2]".utf8))
        #expect(try response.decode([Int].self) == [1, 2])
        #expect("\(response)" == "203, 5 bytes")
        #expect(response.context.attempts == 1)
        #expect(try await manager.data(for: .list) == Data("[1,2]".utf8))
    }

    @Test func `a value is sent as JSON`() async throws {
        stub.answer(.post, "/v1/orders", with: .status(201))
        try await manager.send(.create(Order(id: 1, name: "n")))
        let sent = try JSONDecoder().decode(Order.self, from: Data(stub.requests[0].text.utf8))
        #expect(sent == Order(id: 1, name: "n"))
    }

    @Test(arguments: [300, 304, 400, 404, 418, 500, 599] as [HTTPStatus])
    func `an unsuccessful status is thrown with its response`(status: HTTPStatus) async throws {
        stub.answer(.get, "/v1/orders", with: .json(#"{"code":"E7"}"#, status: status))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        #expect(error?.kind == .unacceptableResponse)
        #expect(error?.response?.status == status)
        #expect(error?.response?.headers[.contentType] == "application/json")
        #expect(try error?.decode(ServerError.self) == ServerError(code: "E7"))
    }

    @Test func `a long error response is truncated`() async throws {
        let long = String(repeating: "x", count: FailedResponse.contentLimit)
        stub.answer(.get, "/v1/orders", with: .pieces([long, "y", "z"], status: 400))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        #expect(error?.response?.content.count == FailedResponse.contentLimit)
        #expect(error?.response?.isTruncated == true)
    }

    @Test func `one rule defines success`() async throws {
        stub.answer(.get, "/v1/orders", with: .json("[]", status: 404))
        var channel = NetworkChannel.stubbed(stub)
        channel.validation = .any
        let manager = NetworkManager<OrderEndpoint>(channel)
        #expect(try await manager.response(for: .list).status == 404)
        var options = CallOptions()
        options.validation = SuccessRule(statuses: [404]).accepting("text/*", "image/png")
        let error = await #expect(throws: NetworkError.self) {
            try await manager.response(for: .list, options: options)
        }
        #expect(error?.detail.contains("application/json") == true)
        options.validation = SuccessRule(statuses: [404]).accepting("application/*")
        _ = try await manager.response(for: .list, options: options)
        options.validation = .ok
        await #expect(throws: NetworkError.self) {
            try await manager.response(for: .list, options: options)
        }
    }

    @Test func `undecodable content is thrown with its position`() async throws {
        stub.answer(.get, "/v1/orders/1", with: .json(#"{"id":"no","name":"secret"}"#))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.request(.order(1), as: Order.self)
        }
        #expect(error?.kind == .undecodableResponse)
        #expect(error?.detail.contains("at id") == true)
        #expect(error?.detail.contains("secret") == false)
        #expect(error?.response?.text.contains("secret") == true)
        #expect(error?.underlying is DecodingError)
    }

    @Test func `the error of an unknown case does not contain the received value`() async throws {
        enum Color: String, Decodable { case red }
        stub.answer(.get, "/v1/orders/1", with: .json(#"{"front":" value secret"}"#))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.request(.order(1), as: [String: Color].self)
        }
        #expect(
            error?.detail == "the content is no Dictionary<String, Color>: "
                + "Cannot initialize Color from invalid String value at front"
        )
    }

    @Test func `empty content is a value if the status allows it`() async throws {
        stub.answer(.delete, "/v1/orders/1", with: .status(204))
        _ = try await manager.request(.remove(1), as: NoContent.self)
        #expect(try await manager.request(.remove(1), as: Order?.self) == nil)
        await #expect(throws: NetworkError.self) {
            try await manager.request(.remove(1), as: Order.self)
        }
        stub.answer(.delete, "/v1/orders/1", with: .status(200))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.request(.remove(1), as: NoContent.self)
        }
        #expect(error?.detail.contains("200") == true)
        var channel = NetworkChannel.stubbed(stub)
        channel.emptyContent.statuses.insert(200)
        _ = try await NetworkManager<OrderEndpoint>(channel)
            .request(.remove(1), as: NoContent.self)
    }

    @Test func `content beyond the limit is an error`() async throws {
        stub.answer(.get, "/v1/orders", with: .pieces(["12345", "67890"]))
        let options = CallOptions(contentLimit: 9)
        let error = await #expect(throws: NetworkError.self) {
            try await manager.response(for: .list, options: options)
        }
        #expect(error?.kind == .httpResponseBodySize)
    }

    @Test func `a call's decoder precedes the endpoint's and the channel's`() async throws {
        struct Snake: Decodable, Sendable { var orderName: String }
        stub.answer(.get, "/v1/orders", with: .json(#"{"order_name":"x"}"#))
        let snake = JSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        var channel = NetworkChannel.stubbed(stub)
        channel.decoder = snake
        let manager = NetworkManager<OrderEndpoint>(channel)
        #expect(try await manager.request(.list, as: Snake.self).orderName == "x")
        let options = CallOptions(decoder: JSONDecoder())
        await #expect(throws: NetworkError.self) {
            try await manager.request(.list, as: Snake.self, options: options)
        }
    }

    @Test func `a call may set its type, decoder, retries and authorization`()
        async throws
    {
        struct Snake: Decodable, Sendable { var orderName: String }
        let snake = JSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        stub.answer(.get, "/v1/orders", with: .json(#"{"order_name":"x"}"#, status: 503))
        let manager = NetworkManager<OrderEndpoint>(
            .stubbed(stub, authorizer: try StaticAuthorizer.bearer(Secret("t")))
        )
        let options = CallOptions(
            decoder: snake,
            validation: SuccessRule(statuses: [503]),
            authorization: .never,
            retries: 0
        )
        let order = try await manager.request(.list, as: Snake.self, options: options)
        #expect(order.orderName == "x")
        // One attempt, without the credential of other calls.
        #expect(stub.requests.map(\.authorization) == [nil])
        await #expect(throws: NetworkError.self) { try await manager.send(.list) }
        let others = stub.requests.dropFirst().map(\.authorization)
        #expect(others == Array(repeating: "Bearer t", count: 3))
    }

    @Test func `a call ends at its timeout`() async throws {
        let clock = ManualClock()
        stub.answer(.get, "/v1/export", with: .never)
        var channel = NetworkChannel.stubbed(stub)
        channel.clock = clock
        let manager = NetworkManager<OrderEndpoint>(channel)
        let task = Task { try await manager.send(.export) }
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(6))
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .httpResponseTimeout)
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func `a call with a zero timeout is not sent`(timeout: Duration) async throws {
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(.export, options: CallOptions(timeout: timeout))
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(stub.requests.isEmpty)
    }

    @Test func `the timeout covers content that never ends`() async throws {
        let clock = ManualClock()
        let stub = StubTransport { _ in
            .response(Response(status: 200, body: .stream(EndlessBody(), length: nil)))
        }
        var channel = NetworkChannel.stubbed(stub)
        channel.clock = clock
        let manager = NetworkManager<OrderEndpoint>(channel)
        let task = Task { try await manager.send(.export) }
        await clock.untilSomebodySleeps()
        clock.advance(by: .seconds(6))
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .httpResponseTimeout)
    }

    @Test(arguments: [false, true])
    func `a failure with stalled content is thrown at the timeout, truncated`(
        _ transportWatches: Bool
    ) async throws {
        let clock = ManualClock()
        let body = StalledBody("oh")
        let stub = StubTransport { _ in
            .response(Response(status: 500, body: .stream(body, length: nil)))
        }
        var channel = NetworkChannel.stubbed(
            transportWatches ? WatchingTransport(behind: stub) : stub
        )
        channel.clock = clock
        let manager = NetworkManager<OrderEndpoint>(channel)
        let task = Task { try await manager.send(.export) }
        #expect(await eventually { clock.sleepers == 1 })
        clock.advance(by: .seconds(5))
        #expect(await eventually { body.isGivenUp })
        // Without a deadline, the call would never end.
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .unacceptableResponse)
        #expect(error?.response?.status == 500)
        #expect(error?.response?.text == "oh")
        #expect(error?.response?.isTruncated == true)
    }

    @Test func `a canceled task ends its call`() async throws {
        stub.answer(.get, "/v1/orders", with: .never)
        let manager = manager
        let task = Task { try await manager.send(.list) }
        await stub.untilRequested(1)
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
    }

    @Test func `a request built by hand is performed like an endpoint`() async throws {
        stub.answer(.get, "/x", with: .json("1"))
        let request = try RequestBuilder("https://other.example").path("/x").build()
        #expect(try await manager.perform(request).decode(Int.self) == 1)
    }

    @Test func `an endpoint that cannot be built is an error of the call`() async throws {
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/x", of: "nonsense"))
        }
        #expect(error?.kind == .httpRequestError)
        #expect(stub.requests.isEmpty)
    }

    @Test func `progress is reported in both directions`() async throws {
        let seen = Mutex<[TransferProgress]>([])
        let stub = StubTransport { _ in .pieces(["abc", "de"]) }
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        var options = CallOptions()
        options.progress = { progress in seen.withLock { $0.append(progress) } }
        let content = Data(repeating: 1, count: 150_000)
        _ = try await manager.upload(
            PathEndpoint("/x", of: "https://a.example", method: .put),
            .data(content, contentType: "image/png"),
            options: options
        )
        let up = seen.withLock { $0.filter { $0.direction == .upload }.map(\.transferred) }
        let down = seen.withLock { $0.filter { $0.direction == .download }.map(\.transferred) }
        #expect(up == [65536, 131_072, 150_000])
        #expect(down == [3, 5])
        #expect(seen.withLock { $0.first?.fraction } == 65536.0 / 150_000)
        #expect(stub.requests[0].content.count == 150_000)
    }
}

/// Declares that it watches the time up to the head.
private struct WatchingTransport: HTTPTransport {
    let behind: any HTTPTransport
    func timed(by clock: any NetworkClock) -> any HTTPTransport { self }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        try await behind.send(request, context: &context)
    }
}

/// Content that never arrives; cancellation ends the wait.
private final class EndlessBody: BodySource {
    func next() async throws -> ByteSlice? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        for await _ in stream {}
        throw CancellationError()
    }
}

@Suite struct CompletionTests {
    @Test func `a completion handler gets the value once`() async throws {
        let stub = StubTransport { _ in .json(#"{"id":1,"name":"x"}"#) }
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        let results = Mutex<[Result<Order, NetworkError>]>([])
        let handle = manager.request(.order(1), as: Order.self) { result in
            results.withLock { $0.append(result) }
        }
        await handle.finished()
        let first = try #require(results.withLock { $0.first })
        #expect(try first.get() == Order(id: 1, name: "x"))
        #expect(results.withLock { $0.count } == 1)
    }

    @Test func `a canceled call completes with cancelled`() async throws {
        let stub = StubTransport { _ in .never }
        let manager = NetworkManager<OrderEndpoint>(.stubbed(stub))
        let kind = Mutex<ErrorKind?>(nil)
        let handle = manager.request(.list, as: NoContent.self) { result in
            if case .failure(let error) = result { kind.withLock { $0 = error.kind } }
        }
        await stub.untilRequested(1)
        handle.cancel()
        await handle.finished()
        #expect(kind.withLock { $0 } == .cancelled)
    }

    @Test func `a completion after the manager is gone is dropped`() async throws {
        let clock = ManualClock()
        let stub = StubTransport(clock: clock) { _ in .delayed(.seconds(1), .status(204)) }
        var manager: NetworkManager<OrderEndpoint>? = NetworkManager(.stubbed(stub))
        let isCalled = Mutex(false)
        let handle = manager?.request(.list, as: NoContent.self) { _ in
            isCalled.withLock { $0 = true }
        }
        await clock.untilSomebodySleeps()
        manager = nil
        clock.advance(by: .seconds(1))
        await handle?.finished()
        #expect(!isCalled.withLock { $0 })
    }
}
