public import NetworkClient
import Synchronization

/// A transport without a network: it responds by method, path and query, and records the requests.
///
///     let stub = StubTransport()
///     stub.answer(.get, "/v1/orders", with: .json(#"{"orders":[]}"#))
///     let manager = NetworkManager<OrderEndpoint>(NetworkChannel(transport: stub))
///
/// Pass it to a channel like any other transport: interceptors, authorization and retries work as they do
/// over the network. A request without a stub fails, and the error lists the existing stubs.
public final class StubTransport: HTTPTransport {
    private struct Route {
        let method: HTTPMethod
        let target: String
        var answers: [StubAnswer]

        func fits(_ asked: StubbedRequest) -> Bool {
            let wanted = TargetPath(target)
            guard method == asked.request.method,
                wanted.query == nil || wanted.query.map(String.init) == asked.query
            else { return false }
            return wanted.path.hasSuffix("*")
                ? asked.path.hasPrefix(wanted.path.dropLast()) : asked.path == wanted.path
        }
    }

    private struct State {
        var routes: [Route] = []
        var requests: [StubbedRequest] = []
    }

    private let fallback: (@Sendable (StubbedRequest) throws -> StubAnswer)?
    private let clock: any NetworkClock
    private let state = Mutex(State())
    private let watchers = Waiters<Int>()

    /// Creates a stub transport.
    ///
    /// - Parameters:
    ///   - clock: measures delays; with a `ManualClock` they take no time.
    ///   - fallback: responds to requests without a stub. Without a fallback, such a request fails with
    ///     `http_request_error`, which contains the request and the existing stubs. A fallback of
    ///     `{ _ in .status(404) }` responds as a server does.
    public init(
        clock: any NetworkClock = SystemClock(),
        _ fallback: (@Sendable (StubbedRequest) throws -> StubAnswer)? = nil
    ) {
        self.clock = clock
        self.fallback = fallback
    }

    /// Sets the responses for a method and a path; if several stubs match, the last one is used.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - path: the path; a `*` at the end matches any suffix. A path without a query matches any query; a
    ///     path with one, such as `/orders?page=2`, matches only that text.
    ///   - answers: the responses, used in order; the last one is repeated.
    public func answer(_ method: HTTPMethod, _ path: String, with answers: StubAnswer...) {
        state.withLock { state in
            state.routes.removeAll { $0.method == method && $0.target == path }
            state.routes.append(Route(method: method, target: path, answers: answers))
        }
    }

    /// The requests so far, in order.
    public var requests: [StubbedRequest] { state.withLock { $0.requests } }

    /// Waits until the given number of requests has arrived, or the task is canceled.
    public func untilRequested(_ count: Int) async {
        await watchers.wait(for: count) { requests.count >= count }
    }

    /// Responds to a request.
    ///
    /// - Throws: the error of the stub; `http_request_error` if no stub matches.
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
        guard let answer = try found ?? fallback?(asked) else { throw nothing(for: asked) }
        let response = try await answer.answer(on: clock)
        context.upstreamStatus = response.status
        return response
    }

    private static func take(_ asked: StubbedRequest, _ routes: inout [Route]) -> StubAnswer? {
        guard let index = routes.lastIndex(where: { $0.fits(asked) }),
            let answer = routes[index].answers.first
        else { return nil }
        if routes[index].answers.count > 1 { routes[index].answers.removeFirst() }
        return answer
    }

    /// Returns an error on the test's side, so that neither retries nor status rules hide it.
    private func nothing(for asked: StubbedRequest) -> NetworkError {
        let (method, routes) = (asked.request.method.rawValue, state.withLock { $0.routes })
        let known = routes.map { "\($0.method.rawValue) \($0.target)" }
        return NetworkError(
            .httpRequestError,
            side: .downstream,
            retry: .safe,
            detail: "no stub for \(method) \(Redaction.standard.target(asked.request.target)); "
                + (known.isEmpty ? "there are none" : "there are \(known.joined(separator: ", "))")
        )
    }
}

/// A request that arrived at a stub.
public struct StubbedRequest: Sendable {
    /// The request after all interceptors; a streamed body is already consumed.
    public let request: Request
    /// The content.
    public let content: ByteSlice

    /// The path without the query.
    public var path: String { String(TargetPath(request.target).path) }
    /// The query without its `?`, unchanged.
    public var query: String? { TargetPath(request.target).query.map(String.init) }
    /// The content as text.
    public var text: String { content.span.string(in: 0..<content.count) }
    /// The value of `Authorization`.
    public var authorization: String? { request.headers[.authorization] }
}
