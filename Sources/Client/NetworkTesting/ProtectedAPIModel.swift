public import NetworkClient
import Synchronization

/// An API without sockets that requires an access token of an `AuthorizationServerModel`.
public final class ProtectedAPIModel: HTTPTransport {
    /// A received request.
    public struct Seen: Sendable {
        /// The values of the `Authorization` field.
        public var authorization: [String]
        /// The body.
        public var body: String
        /// The status of the response.
        public var status: Int
    }

    private struct State {
        var seen: [Seen] = []
        var challenge: String? = #"Bearer realm="api", error="invalid_token""#
        var refusal = "go away"
        var isRefusing = false
        var refusedTarget: String?
        var bodyLimit = Int.max
    }

    private let server: AuthorizationServerModel
    private let state = Mutex(State())
    /// A gate that, while closed, delays the responses.
    public let gate = Door()

    /// Creates an API that trusts the server.
    public init(server: AuthorizationServerModel) { self.server = server }

    /// The requests so far.
    public var seen: [Seen] { state.withLock { $0.seen } }
    /// Sets the value of `WWW-Authenticate` in a 401.
    public func setChallenge(_ challenge: String?) { state.withLock { $0.challenge = challenge } }
    /// Responds to every token with 401.
    public func refuseEverything() { state.withLock { $0.isRefusing = true } }
    /// Responds to every token with 401 at one target, such as `/admin`.
    public func refuseEverything(at target: String) { state.withLock { $0.refusedTarget = target } }
    /// Responds with 401 after this many body bytes, without reading the rest.
    public func refuseAfter(bodyBytes: Int) { state.withLock { $0.bodyLimit = bodyBytes } }

    /// Responds to a request.
    public func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        context.attempts += 1
        let fields = request.headers.values(of: .authorization)
        let token = fields.first.flatMap { $0.hasPrefix("Bearer ") ? $0.dropFirst(7) : nil }
        // The token is checked when the request arrives; the response is sent when the gate opens.
        let isGood = token.map { server.accepts(String($0)) } ?? false
        let settings = state.withLock { $0 }
        let refuses =
            settings.isRefusing || !isGood || settings.refusedTarget == request.target
        var body = ""
        if case .stream(let source, _) = request.body {
            while let piece = try await source.next() {
                body += String(decoding: piece.array, as: UTF8.self)
                if refuses, body.utf8.count >= settings.bodyLimit {
                    source.cancel()
                    break
                }
            }
        } else {
            body = String(
                decoding: try await request.body.collect(upTo: 1 << 20).array,
                as: UTF8.self
            )
        }
        await gate.pass()
        let status: HTTPStatus = refuses ? 401 : 200
        state.withLock {
            $0.seen.append(Seen(authorization: fields, body: body, status: status.rawValue))
        }
        var headers: HTTPHeaders = [:]
        if refuses, let challenge = settings.challenge,
            let field = HTTPField(.wwwAuthenticate, challenge)
        {
            headers.append(field)
        }
        return Response(
            status: status,
            headers: headers,
            body: .bytes(ByteSlice(refuses ? settings.refusal : "welcome"))
        )
    }
}
