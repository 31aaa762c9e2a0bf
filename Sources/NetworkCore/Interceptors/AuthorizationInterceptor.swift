/// Puts the channel's credential into each attempt: the last interceptor before the wire.
public struct AuthorizationInterceptor: RequestInterceptor {
    private let authorizer: any Authorizing
    private let policy: ClientCredentialPolicy

    /// Makes the interceptor.
    public init(authorizer: any Authorizing, onClientCredential: ClientCredentialPolicy = .replace)
    {
        self.authorizer = authorizer
        policy = onClientCredential
    }

    /// Adds the credential and sends the request on.
    ///
    /// - Throws: what the authorizer throws, and `http_request_denied` for a request that brought a
    ///   credential of its own where the channel rejects that.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let credential = try await authorizer.credential()
        let overrides = request.headers.contains(credential.field)
        if overrides {
            switch policy {
            case .replace: break
            case .keep: return try await next.send(request, context: &context)
            case .reject:
                throw NetworkError(
                    .httpRequestDenied,
                    side: .downstream,
                    detail: "the request brings its own \(credential.field); the channel adds one",
                    status: 403
                )
            }
        }
        var request = request
        if overrides { request.headers.remove(credential.field) }
        guard credential.isFitForWire else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                detail: "the credential holds bytes that no field may have"
            )
        }
        request.headers.append(credential.field, validated: credential.value.reveal())
        var facts = AuthorizationFacts(kind: authorizer.kind)
        facts.generation = credential.generation
        facts.age = credential.issuedAt.map { $0.duration(to: .now) }
        facts.overrodeClient = overrides
        facts.isRefreshed = context.authorization?.isRefreshed ?? false
        context.authorization = facts
        return try await next.send(request, context: &context)
    }
}

/// What happens to a request that carries the credential's field already.
public enum ClientCredentialPolicy: Sendable {
    /// Ours takes its place, and the log says so.
    case replace
    /// It is sent as it came, and ours is not.
    case keep
    /// It is refused with 403.
    case reject
}
