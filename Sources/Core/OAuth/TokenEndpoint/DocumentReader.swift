package import NetproxyBytes
package import NetworkCore

/// Sends the requests that netproxy makes for its own use, and reads the documents in their responses.
///
/// Tokens, metadata, registrations, device codes, revocations and credentials of services are all read
/// here. gzip and deflate are decoded, although no request offers them: CDNs compress unasked. A limit
/// counts decoded bytes.
///
/// It follows one redirect within the origin. A redirect of a POST must have the status 307 or 308, which keep
/// the method and the content.
package struct DocumentReader: Sendable {
    let transport: any HTTPTransport
    let clock: any NetworkClock
    /// Proves possession of a key with each request (RFC 9449 §5); `nil` if no proof is needed.
    var proof: ProofOfPossession?
    /// Whether a request may still be sent; `nil` if it always may.
    var condition: (@Sendable () -> Bool)?

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - transport: must not be one that injects tokens.
    ///   - clock: measures the time limits.
    package init(over transport: any HTTPTransport, clock: any NetworkClock) {
        self.transport = transport
        self.clock = clock
    }

    /// Sends a request and returns its response with the whole decoded content, of at most `limit` bytes.
    ///
    /// - Throws: the errors of `send` and of reading the content; `http_response_timeout` at the
    ///   deadline.
    package func document(
        for request: Request,
        upTo limit: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> (response: Response, content: ByteSlice) {
        let response = try await send(request, until: deadline)
        return (response, try await content(of: response, upTo: limit, until: deadline))
    }

    /// Sends a request, and once more if the response is a redirect that is followed.
    ///
    /// - Throws: `TokenFailure` if the key of the proof cannot sign; the errors of the transport.
    func send(
        _ request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws -> Response {
        let response = try await sendOnce(request, until: deadline)
        guard let following = Self.following(request, response) else { return response }
        response.body.cancel()
        return try await sendOnce(following, until: deadline)
    }

    /// Returns the whole decoded content of a response.
    func content(
        of response: Response,
        upTo limit: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> ByteSlice {
        let content = try await response.body.collect(upTo: limit, until: deadline, on: clock)
        return try ContentInflation.decode(content, response.headers, upTo: limit)
    }

    private func sendOnce(
        _ request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws -> Response {
        var request = request
        // A proof is for one method and one URL.
        if let proof { try request.prove(with: proof) }
        var context =
            condition.map { RequestContext(deadline: deadline, sendingIf: $0) }
            ?? RequestContext(deadline: deadline)
        let origin = request.origin
        let response = try await transport.send(request, context: &context)
        proof?.learn(from: response.headers, of: origin, as: .authorizationServer)
        return response
    }

    /// Returns the request that follows a redirect; `nil` for a redirect that is not followed, and for
    /// other responses.
    private static func following(_ request: Request, _ response: Response) -> Request? {
        switch response.status.rawValue {
        case 307, 308: break
        case 301, 302, 303:
            guard request.method == .get else { return nil }
        default: return nil
        }
        guard let location = response.headers[.location],
            let (origin, target) = try? URIReference(location)
                .resolved(from: request.origin, request.target),
            origin == request.origin
        else { return nil }
        var following = request
        following.target = target
        return following
    }
}

extension Response {
    /// The status, with the target of a redirect that was not followed.
    package var statusWords: String {
        guard status.kind == .redirection, let location = headers[.location] else {
            return "\(status)"
        }
        return "\(status), a redirect to '\(ServerWords.shown(location))' that is not followed"
    }
}

extension Request {
    /// Adds a proof of possession for an endpoint of the authorization server (RFC 9449 §5).
    fileprivate mutating func prove(with proof: ProofOfPossession) throws(TokenFailure) {
        do {
            let text = try proof.proof(for: method, to: origin, target)
            headers.append(.dpop, validated: text)
        } catch {
            throw TokenFailure(.configuration, detail: "signing with dpop_key failed")
        }
    }
}
