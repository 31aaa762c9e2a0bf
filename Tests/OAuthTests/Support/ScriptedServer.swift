import NetworkCore
import OAuth
import Synchronization

/// An authorization server with scripted responses.
final class ScriptedServer: HTTPTransport {
    /// A received request.
    struct Seen: Sendable {
        let method: HTTPMethod
        let url: String
        let headers: HTTPHeaders
        let form: [String: String]
        let body: String
    }

    /// A response, or none.
    enum Answer: Sendable {
        case json(HTTPStatus, String)
        case form(HTTPStatus, String)
        /// JSON, with `Retry-After`.
        case busy(HTTPStatus, String, retryAfter: String)
        /// A status with lines of `WWW-Authenticate`.
        case challenge(HTTPStatus, [String])
        /// Content in a coding.
        case coded(HTTPStatus, [UInt8], String)
        /// A redirect to a place.
        case redirect(HTTPStatus, String)
        case unreachable
        case lost
    }

    private struct State {
        var answers: [String: [Answer]] = [:]
        var seen: [Seen] = []
    }

    private let state = Mutex(State())

    /// The received requests, in order.
    var seen: [Seen] { state.withLock { $0.seen } }

    /// Sets the responses to requests for a path, in order; the last one is repeated.
    func script(_ path: String, _ answers: Answer...) {
        state.withLock { $0.answers[path] = answers }
    }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let body = String(
            decoding: try await request.body.collect(upTo: 1 << 16).array,
            as: UTF8.self
        )
        var form: [String: String] = [:]
        for field in FormDecoding.decode(body) { form[field.name] = field.value }
        let seen = Seen(
            method: request.method,
            url: "\(request.origin)\(request.target)",
            headers: request.headers,
            form: form,
            body: body
        )
        let answer: Answer = state.withLock { state in
            state.seen.append(seen)
            guard let answers = state.answers[request.target], let first = answers.first else {
                return .json(404, "{}")
            }
            if answers.count > 1 { state.answers[request.target]?.removeFirst() }
            return first
        }
        switch answer {
        case .json(let status, let text):
            return Response(status: status, body: .bytes(ByteSlice(text)))
        case .form(let status, let text):
            return Response(
                status: status,
                headers: [.contentType: "application/x-www-form-urlencoded"],
                body: .bytes(ByteSlice(text))
            )
        case .busy(let status, let text, let wait):
            return Response(
                status: status,
                headers: try HTTPHeaders(validating: [.retryAfter: wait]),
                body: .bytes(ByteSlice(text))
            )
        case .challenge(let status, let lines):
            var headers = HTTPHeaders()
            for line in lines { headers.append(.wwwAuthenticate, validated: line) }
            return Response(status: status, headers: headers)
        case .coded(let status, let content, let coding):
            return Response(
                status: status,
                headers: try HTTPHeaders(validating: [.contentEncoding: coding]),
                body: .bytes(ByteSlice(content))
            )
        case .redirect(let status, let place):
            return Response(
                status: status,
                headers: try HTTPHeaders(validating: [.location: place])
            )
        case .unreachable:
            throw NetworkError(
                .connectionRefused,
                side: .upstream,
                retry: .safe,
                detail: "nobody listens"
            )
        case .lost:
            throw NetworkError(.connectionTerminated, side: .upstream, detail: "it broke")
        }
    }

    static let good =
        #"{"access_token":"t","token_type":"Bearer","expires_in":60,"refresh_token":"r"}"#
}
