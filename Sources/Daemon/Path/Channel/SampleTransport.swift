package import FoundationEssentials
import NetproxyBytes
package import NetproxyConfig
import NetproxyEventIO
package import NetproxyHTTPMessage
import NetworkCore

/// A channel's `stub`: sample responses instead of the upstream's, at the end of the same chain.
///
/// The `Proxy-Status` of every response and the `upstream` of every record show that the stub responded.
package struct SampleTransport: HTTPTransport {
    /// The upstream in records, and the origin of requests if the channel has no upstream.
    package static let origin = Origin(scheme: .http, host: "stub.localhost")
    /// The address of the connection in records.
    static let address = "stub"

    private struct Sample: Sendable {
        let methods: [HTTPMethod]
        let path: PathPattern?
        let answer: StubAnswer

        func fits(_ method: HTTPMethod, _ path: String) -> Bool {
            guard methods.isEmpty || method.isAmong(methods) else { return false }
            return self.path?.matches(path) ?? true
        }
    }

    private let samples: [Sample]
    /// The base path of requests, which the paths of the samples do not include.
    private let base: UpstreamNames.Name?

    /// Creates the responses.
    ///
    /// - Parameters:
    ///   - channel: the channel with the stub.
    ///   - files: the contents of the files named in the stub.
    /// - Throws: an error with the name of a file that cannot be served.
    package init(_ channel: ChannelConfiguration, files: [String: Data?]) throws {
        base = UpstreamNames(channel).all.first
        samples = try (channel.stub ?? []).map { sample in
            Sample(
                methods: sample.methods.compactMap { HTTPMethod(rawValue: $0) },
                path: sample.path.map(PathPattern.init),
                answer: try SampleTransport.answer(sample, files, of: channel)
            )
        }
    }

    private static func answer(
        _ sample: SampleAnswer,
        _ files: [String: Data?],
        of configuration: ChannelConfiguration
    ) throws -> StubAnswer {
        let channel = configuration.name
        if let limit = configuration.timeouts.response, sample.delay >= limit {
            let setting = TimeSetting("timeouts.response", limit)
            return .delayed(
                limit,
                .failure(.timeout(.awaitingHead, "the channel's stub", after: setting))
            )
        }
        var headers: HTTPHeaders = [:]
        for field in sample.headers {
            if let name = HTTPFieldName(field.name) { headers.append(name, validated: field.value) }
        }
        headers = marked(headers)
        let content: ByteSlice
        switch sample.content {
        case .none: content = ByteSlice([])
        case .text(let text): content = ByteSlice(text)
        case .file(let path):
            guard case .some(.some(let data)) = files[path] else {
                throw IOError.system("channel \(channel): stub: cannot read \(path)")
            }
            guard data.count <= SampleAnswer.fileLimit.bytes else {
                throw IOError.system(
                    "channel \(channel): stub: \(path) is larger than \(SampleAnswer.fileLimit)"
                )
            }
            content = ByteSlice(Array(data))
        }
        let status = HTTPStatus(rawValue: sample.status) ?? 200
        let answer: StubAnswer
        switch sample.fault.map(SampleTransport.error) {
        case nil:
            answer = .response(
                Response(
                    status: status,
                    headers: headers,
                    body: content.isEmpty ? .empty : .bytes(content)
                )
            )
        case let error? where error.kind == .httpResponseIncomplete:
            answer = .cut(content, status: status, headers: headers, by: error)
        case let error?: answer = .failure(error)
        }
        return sample.delay > .zero ? .delayed(sample.delay, answer) : answer
    }

    /// Adds the word of RFC 9209 §2.3 for a response that does not come from a next hop.
    private static func marked(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        headers.append(
            HTTPFieldName(known: .proxyStatus),
            validated: "netproxy; error=proxy_internal_response; details=\"stub\""
        )
        return headers
    }

    /// Returns the error that the network would report, so that retries treat both alike.
    private static func error(_ fault: SampleAnswer.Fault) -> NetworkError {
        let (kind, retry): (ErrorKind, NetworkError.RetrySafety) =
            switch fault {
            case .dnsError: (.dnsError, .safe)
            case .dnsTimeout: (.dnsTimeout, .safe)
            case .connectionRefused: (.connectionRefused, .safe)
            case .connectionTimeout: (.connectionTimeout, .safe)
            case .tlsCertificateError: (.tlsCertificateError, .safe)
            case .connectionTerminated: (.connectionTerminated, .unsafe)
            case .httpProtocolError: (.httpProtocolError, .unsafe)
            case .httpResponseTimeout: (.httpResponseTimeout, .unsafe)
            case .httpResponseIncomplete: (.httpResponseIncomplete, .unsafe)
            }
        return NetworkError(
            kind,
            side: .upstream,
            retry: retry,
            detail: "the channel's stub has this fault for the request; no upstream was asked"
        )
    }

    /// Reads the content of the request, and returns the first matching response.
    func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        context.attempts += 1
        context.upstreamAddress = SampleTransport.address
        context.destination = RequestContext.Destination(
            origin: SampleTransport.origin,
            target: request.target
        )
        if case .stream(let source, _) = request.body {
            while try await source.next() != nil {}
        }
        // Remove the credential, since a sample may repeat the target.
        let target = base?.shown(request.target) ?? request.target
        let path = PathPattern.path(of: target, below: base?.basePath ?? "")
        guard let sample = samples.first(where: { $0.fits(request.method, path) }) else {
            return nothing(for: request.method, path, &context)
        }
        let response = try await sample.answer.answer(on: SystemClock())
        context.upstreamStatus = response.status
        return response
    }

    private func nothing(
        for method: HTTPMethod,
        _ path: String,
        _ context: inout RequestContext
    ) -> Response {
        let text = """
            The channel's stub has no answer for \(method.rawValue) \(path).
            An answer without method and path, at the end of its list, is for every request.

            """
        context.upstreamStatus = 404
        return Response(
            status: 404,
            headers: SampleTransport.marked([.contentType: "text/plain"]),
            body: .bytes(ByteSlice(text))
        )
    }
}
