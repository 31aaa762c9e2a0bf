import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// What a request costs, part by part: each does its work so often and nothing else.
enum Workloads {
    /// Decodes the head of a small GET.
    static func decodeRequest(_ count: Int) throws {
        try decode(Messages.request, count)
    }

    /// Decodes a head of 50 fields: with the next one, what a field costs.
    static func decode50Fields(_ count: Int) throws {
        try decode(Messages.request(fields: 50), count)
    }

    /// Decodes a head of 500 fields, 15 KiB.
    static func decode500Fields(_ count: Int) throws {
        try decode(Messages.request(fields: 500), count)
    }

    private static func decode(_ bytes: [UInt8], _ count: Int) throws {
        var limits = HTTP1Limits()
        limits.fieldCount = 1000
        var decoder = RequestHeadDecoder(limits: limits)
        for _ in 0..<count {
            let decoded = try decoder.decode(bytes.span)
            precondition(decoded?.consumed == bytes.count)
        }
    }

    /// Decodes the head of a small response.
    static func decodeResponse(_ count: Int) throws {
        var decoder = ResponseHeadDecoder()
        for _ in 0..<count {
            let decoded = try decoder.decode(Messages.response.span, answering: .get)
            precondition(decoded?.consumed == Messages.response.count)
        }
    }

    /// Copies a head's fields, edits them as on the way through the proxy, and writes the head.
    static func editAndEncode(_ count: Int) throws {
        let original = try requestHeaders()
        let output = OutputBuffer()
        let defaults = Array(Messages.defaults)
        let credential = HTTPField(.authorization, "Bearer \(Messages.token)")
        for _ in 0..<count {
            var headers = original
            _ = HopByHop(removingFrom: &headers)
            headers.append(.via, validated: "1.1 netproxy-1f3a")
            headers.append(.xRequestId, validated: "61x4skbb02wsm14")
            for field in defaults where !headers.contains(field.name) {
                headers.append(field)
            }
            if let credential { headers.set(credential) }
            output.removeAll()
            HeadEncoder.encodeRequest(
                method: .get,
                target: "/v1/orders?page=2",
                host: "127.0.0.1:9901",
                headers: headers,
                framing: .none,
                into: output
            )
            precondition(output.count > 900)
        }
    }

    /// Sends a request through the interceptors of a channel to a transport that answers at once.
    static func chain(_ count: Int) async throws {
        let origin = Origin(scheme: .http, host: "127.0.0.1", port: 9901)
        let authorizer = try StaticAuthorizer.bearer(Secret(Messages.token))
        var stack = InterceptorStack()
        stack.headers = DefaultHeadersInterceptor(defaults: Messages.defaults)
        stack.retry = RetryInterceptor(policy: RetryPolicy(), budget: RetryBudget())
        stack.signing = InterceptorStack.Signing(
            by: authorizer,
            for: origin,
            replayLimit: 64 * 1024
        )
        let chain = stack.chain(to: ImmediateTransport())
        let request = Request(
            origin: origin,
            target: "/v1/orders?page=2",
            headers: try requestHeaders()
        )
        for _ in 0..<count {
            var context = RequestContext(requestID: "61x4skbb02wsm14")
            let response = try await chain.send(request, context: &context)
            precondition(response.status == 200)
        }
    }

    /// Encodes the log line of a small GET as JSON.
    static func logLine(_ count: Int) {
        let encoder = LineEncoder(
            labels: LogLabels(
                channel: "plain",
                subsystem: "netproxy.plain",
                category: "network",
                credentialFields: [.authorization]
            )
        )
        var record = ExchangeRecord(
            time: WallTime(seconds: 1_790_000_000, microseconds: 123_456),
            requestID: "61x4skbb02wsm14",
            client: "127.0.0.1:44828",
            method: "GET",
            target: "/v1/orders?page=2"
        )
        record.scheme = "http"
        record.host = "127.0.0.1:9901"
        record.protocolVersion = "HTTP/1.1"
        (record.status, record.context.upstreamStatus) = (200, 200)
        record.bytesOut = 714
        record.duration = .microseconds(321)
        record.context.timings.firstByte = .microseconds(109)
        record.context.upstreamAddress = "127.0.0.1:9901"
        (record.context.isConnectionReused, record.context.attempts) = (true, 1)
        record.context.authorization = AuthorizationFacts(kind: "bearer")
        let output = OutputBuffer()
        for _ in 0..<count {
            record.time.microseconds &+= 1
            output.removeAll()
            encoder.encode(record, to: output)
            precondition(output.count > 300)
        }
    }

    private static func requestHeaders() throws -> HTTPHeaders {
        var decoder = RequestHeadDecoder()
        return try decoder.decode(Messages.request.span)?.head.headers ?? HTTPHeaders()
    }
}

/// Answers every request in the same way, without waiting.
private struct ImmediateTransport: HTTPTransport {
    private let response = Response(status: 200)

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        context.attempts += 1
        return response
    }
}
