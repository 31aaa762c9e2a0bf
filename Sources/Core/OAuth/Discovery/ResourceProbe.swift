package import NetworkCore

/// Requests the name of a protected resource's authorization server (RFC 9728).
///
/// Its requests carry no credential. Only sign-ins use it: later changes of
/// a resource are ignored.
package struct ResourceProbe: Sendable {
    /// The self-description of a resource.
    package struct Finding: Sendable, Hashable {
        /// Its metadata.
        package var resource: ProtectedResource
        /// The scopes in its challenge; empty without one.
        package var challengedScopes: [String]
    }

    /// The maximum duration of the probe.
    private static let timeout = Duration.seconds(10)
    /// The largest accepted document: 256 KiB.
    private static let limit = 256 * 1024

    private let transport: any HTTPTransport
    private let clock: any NetworkClock
    private let plainHTTP: ServerEndpoint.PlainHTTP

    /// Makes a probe; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - transport: speaks to the upstream; must not be one that injects tokens.
    ///   - clock: measures the time limit.
    ///   - plainHTTP: whether `http` is accepted for hosts other than this machine.
    package init(
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        plainHTTP: ServerEndpoint.PlainHTTP = .refused
    ) {
        self.transport = transport
        self.clock = clock
        self.plainHTTP = plainHTTP
    }

    /// Finds the metadata of the resource at an upstream.
    ///
    /// - Throws: `MetadataError`.
    package func find(_ upstream: ServerEndpoint) async throws(MetadataError) -> Finding {
        guard upstream.isAcceptable(plainHTTP) else {
            throw MetadataError(
                "the upstream \(upstream) is not https, so its metadata cannot be trusted"
            )
        }
        let deadline = clock.now + Self.timeout
        let (status, challenge) = try await challenge(of: upstream, until: deadline)
        let scopes = challenge?.parameters["scope"].map(ScopeList.scopes) ?? []
        let places = try self.places(upstream, challenge)
        var failure: MetadataError?
        for place in places {
            let document: [UInt8]?
            do throws(MetadataError) {
                document = try await fetch(place, until: deadline)
                guard let document else { continue }
                let resource = try ProtectedResource(
                    document,
                    of: upstream,
                    from: place,
                    plainHTTP: plainHTTP
                )
                return Finding(resource: resource, challengedScopes: scopes)
            } catch {
                // Another place may have the document of this resource.
                guard error.kind == .notMetadata || error.kind == .otherMetadata else {
                    throw error
                }
                failure = error.kind == .otherMetadata ? error : failure ?? error
            }
        }
        // MCP servers of the revision 2025-03-26 have only the metadata of an authorization server.
        if status == 401, failure?.kind != .otherMetadata,
            challenge?.parameters["resource_metadata"] == nil
        {
            let resource = ProtectedResource(withoutMetadata: upstream)
            return Finding(resource: resource, challengedScopes: scopes)
        }
        if let failure { throw failure }
        throw MetadataError(
            "\(upstream) answered \(status) and has no metadata of a protected resource (RFC 9728) at "
                + places.map(\.target).joined(separator: " or ")
                + "; set auth.oauth.issuer and client_id instead of discover"
        )
    }

    /// The place that the challenge names, else the well-known ones.
    private func places(
        _ upstream: ServerEndpoint,
        _ challenge: Challenge?
    ) throws(MetadataError) -> [ServerEndpoint] {
        guard let text = challenge?.parameters["resource_metadata"] else {
            return ProtectedResource.places(of: upstream.target).map {
                ServerEndpoint(origin: upstream.origin, target: $0)
            }
        }
        let shown = ServerWords.shown(text)
        guard let place = ServerEndpoint(text), place.isAcceptable(plainHTTP) else {
            throw MetadataError(
                "\(upstream) names '\(shown)' as the place of its metadata, which is not an https URL"
            )
        }
        guard place.origin == upstream.origin else {
            throw MetadataError(
                "\(upstream) names '\(shown)' as the place of its metadata, which is on another origin "
                    + "than \(upstream.origin); set auth.oauth.issuer and client_id instead of discover"
            )
        }
        return [place]
    }

    // MARK: - Requests

    /// The upstream's challenge, and the status of its last response.
    private func challenge(
        of upstream: ServerEndpoint,
        until deadline: ContinuousClock.Instant
    ) async throws(MetadataError) -> (HTTPStatus, Challenge?) {
        var request = Request(origin: upstream.origin, target: upstream.target)
        request.headers = [
            .accept: "application/json, text/event-stream", .acceptEncoding: "identity",
        ]
        let first = try await head(of: request, until: deadline)
        if let challenge = Self.challenge(in: first) { return (first.status, challenge) }
        guard first.status != 401 else { return (first.status, nil) }
        // MCP servers may refuse GET before they look for a token.
        request.method = .post
        request.headers.append(.contentType, validated: "application/json")
        request.body = .bytes(ByteSlice(Self.initialize))
        let second = try await head(of: request, until: deadline)
        return (second.status, Self.challenge(in: second))
    }

    /// The first request of MCP's lifecycle, which every server understands.
    private static let initialize =
        #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#
        + #""capabilities":{},"clientInfo":{"name":"netproxy","version":"1"}}}"#

    /// The challenge that names the metadata, else the first one for a token.
    private static func challenge(in response: Response) -> Challenge? {
        guard response.status == 401 || response.status == 403 else { return nil }
        let challenges = response.headers.values(of: .wwwAuthenticate)
            .flatMap { ChallengeParser.parse($0) ?? [] }
            .filter { ["bearer", "dpop"].contains($0.scheme) }
        return challenges.first { $0.parameters["resource_metadata"] != nil } ?? challenges.first
    }

    /// The status and the fields of a response, whose content may never end.
    private func head(
        of request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(MetadataError) -> Response {
        var context = RequestContext(deadline: deadline)
        do {
            let response = try await transport.send(request, context: &context)
            response.body.cancel()
            return response
        } catch {
            throw unreachable(request, error)
        }
    }

    /// The content at a place; `nil` for one without a document.
    private func fetch(
        _ place: ServerEndpoint,
        until deadline: ContinuousClock.Instant
    ) async throws(MetadataError) -> [UInt8]? {
        var request = Request(origin: place.origin, target: place.target)
        request.headers = [.accept: "application/json", .acceptEncoding: "identity"]
        let answer: (response: Response, content: ByteSlice)
        do {
            answer = try await DocumentReader(over: transport, clock: clock)
                .document(for: request, upTo: Self.limit, until: deadline)
        } catch {
            throw unreachable(request, error)
        }
        let status = answer.response.status
        if status == 200 { return answer.content.array }
        if status.kind == .clientError, status != 429, status != 408 { return nil }
        throw MetadataError(
            "\(place) answered \(answer.response.statusWords)",
            status.kind == .redirection ? .notMetadata : .transient
        )
    }

    private func unreachable(_ request: Request, _ error: any Error) -> MetadataError {
        MetadataError(
            "\(request.origin)\(request.target) cannot be read (\(NetworkError.words(of: error)))",
            .transient
        )
    }
}
