public import NetworkCore
import Synchronization

/// A transport without a network: it answers by method and path, and keeps what it was asked.
///
///     let stub = StubTransport()
///     stub.answer(.get, "/v1/orders", with: .json(#"{"orders":[]}"#))
///     let manager = NetworkManager<OrderEndpoint>(NetworkChannel(transport: stub))
///
/// Give it to a channel as any other transport: interceptors, authorization and retries work as they
/// do over the network.
public final class StubTransport: HTTPTransport {
    private struct Route {
        let method: HTTPMethod
        let path: String
        var answers: [StubAnswer]
    }

    private struct State {
        var routes: [Route] = []
        var requests: [StubbedRequest] = []
    }

    private let fallback: @Sendable (StubbedRequest) throws -> StubAnswer
    private let clock: any NetworkClock
    private let state = Mutex(State())
    private let watchers = Waiters<Int>()

    /// Makes a stub.
    ///
    /// - Parameters:
    ///   - clock: measures delays; a test's own clock makes them pass at once.
    ///   - fallback: answers what no route is for; 404 unless another is given.
    public init(
        clock: any NetworkClock = SystemClock(),
        _ fallback: @escaping @Sendable (StubbedRequest) throws -> StubAnswer = { _ in
            .status(404)
        }
    ) {
        self.clock = clock
        self.fallback = fallback
    }

    /// Answers requests for a method and a path; of several that fit, what was named last.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - path: the path without the query; a `*` at its end stands for anything.
    ///   - answers: given one after the other; the last one again and again.
    public func answer(_ method: HTTPMethod, _ path: String, with answers: StubAnswer...) {
        state.withLock { state in
            state.routes.removeAll { $0.method == method && $0.path == path }
            state.routes.append(Route(method: method, path: path, answers: answers))
        }
    }

    /// What was asked so far, in order.
    public var requests: [StubbedRequest] { state.withLock { $0.requests } }

    /// Returns when so many requests have arrived, or the task is cancelled.
    public func untilRequested(_ count: Int) async {
        await watchers.wait(for: count) { requests.count >= count }
    }

    /// Answers a request.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        context.attempts += 1
        let content = try await request.body.collect(upTo: .max)
        let asked = StubbedRequest(request: request, content: content)
        let (found, arrived) = state.withLock { state in
            state.requests.append(asked)
            return (StubTransport.take(asked, &state.routes), state.requests.count)
        }
        watchers.release { $0 <= arrived }
        let response = try await (found ?? fallback(asked)).answer(on: clock)
        context.upstreamStatus = response.status
        return response
    }

    private static func take(_ asked: StubbedRequest, _ routes: inout [Route]) -> StubAnswer? {
        let index = routes.lastIndex { route in
            route.method == asked.request.method
                && (route.path.hasSuffix("*")
                    ? asked.path.hasPrefix(route.path.dropLast()) : asked.path == route.path)
        }
        guard let index, let answer = routes[index].answers.first else { return nil }
        if routes[index].answers.count > 1 { routes[index].answers.removeFirst() }
        return answer
    }
}

/// A request as it arrived at a stub.
public struct StubbedRequest: Sendable {
    /// The request, with what interceptors did to it; a streamed body is spent.
    public let request: Request
    /// The content.
    public let content: ByteSlice

    /// The path without the query.
    public var path: String { String(TargetPath(request.target).path) }
    /// The query without its `?`, as it was sent.
    public var query: String? { TargetPath(request.target).query.map(String.init) }
    /// The content as text.
    public var text: String { content.span.string(in: 0..<content.count) }
    /// The value of `Authorization`.
    public var authorization: String? { request.headers[.authorization] }
}
