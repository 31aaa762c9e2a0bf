package import NetproxySettings

/// Adds exactly one credential to each attempt, and only for the configured origins.
public struct AuthorizationInterceptor: RequestInterceptor {
    private let authorizer: any Authorizing
    private let place: CredentialPlace
    private let origins: [Origin]
    /// The data for requests that are not signed in place; boxed, so that visiting the step copies little.
    private let rules: Rules

    private final class Rules: Sendable {
        let onClientCredential: ClientCredentialPolicy
        let refusals: RefusalRule
        let identity: String?
        /// Recognizes the client's signature if it consists of more than a field.
        let signatures: (any SignatureRecognizing)?

        init(
            _ onClientCredential: ClientCredentialPolicy,
            _ refusals: RefusalRule,
            _ identity: String?,
            _ signatures: (any SignatureRecognizing)?
        ) {
            self.onClientCredential = onClientCredential
            self.refusals = refusals
            self.identity = identity
            self.signatures = signatures
        }
    }

    /// Creates the interceptor.
    ///
    /// - Parameters:
    ///   - authorizer: the source of the credential.
    ///   - place: the place of the credential; `nil` selects the authorizer's own field.
    ///   - origins: the origins that may receive the credential, as in RFC 9700 §4.9.1; a request to any
    ///     other origin
    ///     is sent without it.
    ///   - refusals: the responses that may mean that the credential was refused. Default: a 401.
    public init(
        authorizer: any Authorizing,
        place: CredentialPlace? = nil,
        origins: [Origin],
        refusals: RefusalRule = RefusalRule()
    ) {
        self.init(
            authorizer: authorizer,
            place: place,
            origins: origins,
            onClientCredential: .replace,
            refusals: refusals
        )
    }

    /// Creates the interceptor with a policy for the client's own credential and the name of the identity.
    package init(
        authorizer: any Authorizing,
        place: CredentialPlace? = nil,
        origins: [Origin],
        onClientCredential: ClientCredentialPolicy,
        refusals: RefusalRule = RefusalRule(),
        identity: String? = nil
    ) {
        self.authorizer = authorizer
        rules = Rules(
            onClientCredential,
            refusals,
            identity,
            authorizer as? any SignatureRecognizing
        )
        self.place = place ?? .header(authorizer.fieldName)
        self.origins = origins
    }

    /// Sends the request with the credential.
    ///
    /// - Throws: `NetworkError` of kind `.httpRequestDenied` for a request with its own credential under
    ///   `reject`;
    ///   the errors of the authorizer and of `next`.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        guard var facts = try begin(request, &context) else {
            return try await next.send(request, context: &context)
        }
        // If a step below fails, the facts still contain the kind of the credential.
        context.authorization = facts
        let credential: Credential
        if let own = context.ownCredential {
            credential = own
            context.ownCredential = nil
        } else if let current = authorizer.currentCredential() {
            credential = current
        } else {
            let start = authorizer.clock.now
            defer {
                facts.addWait(since: start, on: authorizer.clock)
                context.authorization = facts
            }
            do {
                let deadline = context.deadline
                credential = try await CredentialWait.run(for: authorizer) {
                    try await authorizer.credential(until: deadline)
                }
            } catch let error as NetworkError where error.kind == .httpResponseTimeout {
                // This is the deadline of the exchange; only the context knows its setting.
                throw context.deadlineSetting.map { .timeout(.credential, after: $0) } ?? error
            }
            facts.isRefreshed = true
        }
        var authorized = request
        if let signer = credential.signing {
            SubprotocolCredential.remove(from: &authorized.headers)
            try await signer.sign(&authorized)
        } else {
            try place.put(credential, in: &authorized)
        }
        note(credential, facts, &context)
        try AuthorizationInterceptor.prove(&authorized, with: credential)
        let response = try await next.send(authorized, context: &context)
        credential.proof?.learn(from: response.headers, of: request.origin)
        credential.signing?.learn(from: response)
        // The error of a gateway does not show whether the token is valid.
        if !credential.isProven, !rules.refusals.mayApply(to: response),
            response.status.rawValue < 500,
            !RPCStatus.isRefusal(response, over: context.version), credential.prove()
        {
            authorizer.accepted(credential)
        }
        return response
    }

    /// Signs the request in place if that requires no wait and can be undone, and returns whether it did.
    ///
    /// This requires a current and proven credential that is the same for each request, and an unused field.
    func sign(_ request: inout Request, _ context: inout RequestContext) -> Bool {
        guard case .header(let field) = place.location,
            context.ownCredential == nil, let credential = authorizer.currentCredential(),
            credential.isProven, !credential.isPerRequest, origins.contains(request.origin),
            !request.headers.contains(like: field),
            !request.headers.contains(SubprotocolCredential.field)
        else { return false }
        place.put(credential, as: field, in: &request.headers)
        note(credential, newFacts(context), &context)
        return true
    }

    /// Removes the credential from the request.
    func unsign(_ request: inout Request) {
        if let field = place.fieldName { request.headers.remove(field) }
    }

    /// Returns the facts known before the credential; `nil` if the request is sent without the channel's
    /// credential.
    private func begin(
        _ request: Request,
        _ context: inout RequestContext
    ) throws -> AuthorizationFacts? {
        var facts = newFacts(context)
        // The facts of an earlier attempt must not make this one look authorized.
        context.authorization = nil
        guard origins.contains(request.origin) else { return nil }
        let isOccupied = place.isOccupied(in: request)
        facts.overrodeClient = isOccupied || rules.signatures?.isSigned(request) == true
        if facts.overrodeClient {
            switch rules.onClientCredential {
            case .replace: break
            case .keep: return nil
            case .reject:
                guard !SubprotocolCredential.isPresent(in: request.headers) else {
                    throw AuthorizationInterceptor.denied("credential in Sec-WebSocket-Protocol")
                }
                throw AuthorizationInterceptor.denied(isOccupied ? place : nil)
            }
        }
        return facts
    }

    /// Returns new facts that keep the wait and the refresh of earlier attempts.
    private func newFacts(_ context: borrowing RequestContext) -> AuthorizationFacts {
        var facts = AuthorizationFacts(kind: authorizer.kind)
        facts.identity = rules.identity
        facts.isRefreshed = context.authorization?.isRefreshed ?? false
        facts.wait = context.authorization?.wait
        return facts
    }

    private func note(
        _ credential: Credential,
        _ facts: consuming AuthorizationFacts,
        _ context: inout RequestContext
    ) {
        facts.generation = credential.generation
        facts.age = credential.age(by: authorizer.clock)
        context.authorization = facts
        if let last = context.sentCredential, last != credential {
            context.earlierCredentials.append(last)
        }
        context.sentCredential = credential
    }

    /// Adds the proof that a bound token requires, a new one for each attempt (RFC 9449 §4.1).
    private static func prove(_ request: inout Request, with credential: Credential) throws {
        guard let proof = credential.proof else { return }
        do {
            try proof.attach(to: &request)
        } catch {
            // Do not send the request without a proof, because the token is bound.
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .unsafe,
                detail: "the key that the token is bound to cannot sign",
                status: 503
            )
        }
    }

    /// Returns the error for a request with its own credential in a place, or with its own signature if
    /// `nil`.
    private static func denied(_ place: CredentialPlace?) -> NetworkError {
        let own =
            switch place?.location {
            case .header(let field): "\(field) field"
            case .query(let parameter): "\(parameter.name) parameter in the query"
            case .path: "credential in the path"
            case nil: "signature in the query"
            }
        return denied(own)
    }

    private static func denied(_ own: String) -> NetworkError {
        NetworkError(
            .httpRequestDenied,
            side: .downstream,
            retry: .safe,
            detail: "the request brings its own \(own); send it without one",
            status: 403
        )
    }
}
