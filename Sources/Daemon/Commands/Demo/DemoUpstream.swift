import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetproxyService
import NetworkCore
import Synchronization

/// The demo's API, which requires a token for every path except `/public`.
final class DemoUpstream: Sendable {
    private let authorizationServer: DemoAuthorizationServer
    private let requests = Mutex(DemoLog())

    init(_ authorizationServer: DemoAuthorizationServer) {
        self.authorizationServer = authorizationServer
    }

    /// The most recent requests, such as `GET /v1/orders 200`, in order.
    var log: [String] { requests.withLock { $0.lines } }

    /// Responds to a request.
    func answer(_ call: LocalServer.Call) -> Response {
        let response = route(call)
        requests.withLock { $0.append("\(call.method) \(call.path) \(response.status)") }
        return response
    }

    private func route(_ call: LocalServer.Call) -> Response {
        if call.path.hasPrefix("/public") { return described(call) }
        guard authorizationServer.accepts(call.headers[.authorization]) else {
            var response = Response.json(401, #"{"message":"a live token is needed"}"#)
            response.headers.append(
                .wwwAuthenticate,
                validated: #"Bearer realm="demo", error="invalid_token""#
            )
            return response
        }
        switch (call.method, call.path) {
        case (.post, "/v1/revoke"):
            authorizationServer.revokeAll()
            return .json(200, #"{"message":"every access token is revoked now"}"#)
        case (.get, "/v1/stream"):
            return Response(
                status: 200,
                headers: [.contentType: "text/event-stream"],
                body: .stream(DemoEvents(count: 5), length: nil)
            )
        default: return described(call)
        }
    }

    /// Returns a description of the request, so that a user can see the additions of the proxy.
    private func described(_ call: LocalServer.Call) -> Response {
        let output = OutputBuffer()
        output.append("{\"method\":")
        JSONText.append(call.method.rawValue, to: output)
        output.append(",\"path\":")
        JSONText.append(call.path, to: output)
        output.append(",\"body_bytes\":")
        output.append(decimal: call.body.count)
        output.append(",\"has_token\":")
        output.append(call.headers[.authorization] == nil ? "false" : "true")
        for field in call.headers where field.name != .authorization {
            output.append(",")
            JSONText.append("header_" + field.name.text.lowercased(), to: output)
            output.append(":")
            JSONText.append(field.value, to: output)
        }
        output.append("}")
        return .json(200, String(decoding: output.span.array, as: UTF8.self))
    }
}

/// The most recent lines of a demo server, which may run for days.
struct DemoLog {
    private static let limit = 1000
    private(set) var lines: [String] = []

    mutating func append(_ line: String) {
        if lines.count == 2 * DemoLog.limit { lines.removeFirst(DemoLog.limit) }
        lines.append(line)
    }
}

/// A few server-sent events, with a pause after each.
private final class DemoEvents: BodySource {
    private let left: Mutex<Int>
    private let count: Int

    init(count: Int) {
        self.count = count
        left = Mutex(count)
    }

    func next() async throws -> ByteSlice? {
        let number = left.withLock { left -> Int? in
            guard left > 0 else { return nil }
            left -= 1
            return count - left
        }
        guard let number else { return nil }
        if number > 1 { try await Task.sleep(for: .milliseconds(100)) }
        return ByteSlice("data: event \(number) of \(count)\n\n")
    }
}
