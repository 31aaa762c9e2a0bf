package import NetworkCore
import Synchronization

/// An origin that accepts some tokens and records its requests.
package final class Upstream: HTTPTransport {
    /// A received request.
    package struct Arrived: Sendable {
        package let request: Request
        package let body: String
        package var token: String? { request.headers[.authorization] }
    }

    private let arrivals = Mutex<[Arrived]>([])
    private let answer: @Sendable (Arrived, Int) throws -> Response

    /// Creates an origin; `answer` receives the request and the number of earlier requests.
    package init(_ answer: @escaping @Sendable (Arrived, Int) throws -> Response) {
        self.answer = answer
    }

    /// Returns an origin that accepts the tokens for which `accepted` is true, and responds with 401 to all
    /// others.
    package static func accepting(
        challenge: String? = #"Bearer error="invalid_token""#,
        _ accepted: @escaping @Sendable (String?) -> Bool
    ) -> Upstream {
        Upstream { arrived, _ in
            if accepted(arrived.token) { return Response(status: 200) }
            var headers: HTTPHeaders = [:]
            if let challenge, let field = HTTPField(.wwwAuthenticate, challenge) {
                headers.append(field)
            }
            return Response(status: 401, headers: headers)
        }
    }

    package var arrived: [Arrived] { arrivals.withLock { $0 } }

    package func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let body = try await request.body.collect(upTo: 1 << 20)
        let arrival = Arrived(request: request, body: String(decoding: body.array, as: UTF8.self))
        let count = arrivals.withLock { arrivals in
            arrivals.append(arrival)
            return arrivals.count - 1
        }
        let response = try answer(arrival, count)
        context.upstreamStatus = response.status
        return response
    }
}

extension Request {
    package static func forTests(
        _ method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .empty
    ) -> Request {
        Request(
            method: method,
            origin: Origin(scheme: .https, host: "api.example"),
            target: "/",
            headers: headers,
            body: body
        )
    }
}

extension RequestChain {
    /// Returns an origin with reauthorization and authorization before it.
    package static func authorized(
        by authorizer: any Authorizing,
        _ upstream: any HTTPTransport,
        replays: Bool = true,
        replayLimit: Int = 64 * 1024
    ) -> RequestChain {
        var stack = InterceptorStack()
        var signing = InterceptorStack.Signing(
            by: authorizer,
            for: Origin(scheme: .https, host: "api.example"),
            replayLimit: replayLimit
        )
        signing.replays = replays
        stack.signing = signing
        return stack.chain(to: upstream)
    }

    /// Sends a request, and returns the response and the context.
    package func exchange(
        _ request: Request = .forTests()
    ) async throws -> (Response, RequestContext) {
        var context = RequestContext()
        let response = try await send(request, context: &context)
        return (response, context)
    }
}

/// Returns the error of an operation, if it is a `NetworkError`.
package func networkError(_ operation: () async throws -> some Sendable) async -> NetworkError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? NetworkError
    }
}
