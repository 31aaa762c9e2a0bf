/// Adds the credential to each attempt: exactly one in its place, and only towards the origins it is
/// meant for.
public struct AuthorizationInterceptor: RequestInterceptor {
    /// The treatment of a request with its own credential.
    package enum ClientCredentialPolicy: String, Sendable {
        /// The channel's credential replaces it.
        case replace
        /// It is sent as it is, without the channel's.
        case keep
        /// The request is refused (403).
        case reject
    }

    private let authorizer: any Authorizing
    private let place: CredentialPlace
    private let origins: [Origin]
    /// The parts for a request that is not signed in place; separate, so that visiting the step copies little.
    private let rules: Rules

    private final class Rules: Sendable {
        let onClientCredential: ClientCredentialPolicy
        let refusals: RefusalRule
        let identity: String?
        /// Knows the signatures of apps, where these are more than a field.
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

    /// Makes the step.
    ///
    /// - Parameters:
    ///   - authorizer: gives the credential.
    ///   - place: where it goes; `nil` for the authorizer's own field.
    ///   - origins: where the credential may go, in the sense of RFC 9700 §4.9.1; a request to any
    ///     other origin goes without it.
    ///   - refusals: which answers may mean that the credential was refused. Default: a 401.
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

    /// As above, with the treatment of a credential in the request, and the name of the account.
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
    /// - Throws: `NetworkError` of kind `.httpRequestDenied` for a request with its own
    ///   credential under `reject`; what the authorizer throws; what `next` throws.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        guard var facts = try begin(request, &context) else {
            return try await next.send(request, context: &context)
        }
        // So that a failure below still says which kind of credential was wanted.
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
                credential = try await authorizer.credential(until: context.deadline)
            } catch let error as NetworkError where error.kind == .httpResponseTimeout {
                // The deadline of the exchange: only the context knows its setting.
                throw context.deadlineSetting.map { .timeout(.credential, after: $0) } ?? error
            }
            facts.isRefreshed = true
        }
        var authorized = request
        if let signer = credential.signing {
            try await signer.sign(&authorized)
        } else {
            try place.put(credential, in: &authorized)
        }
        note(credential, facts, &context)
        try AuthorizationInterceptor.prove(&authorized, with: credential)
        let response = try await next.send(authorized, context: &context)
        credential.proof?.learn(from: response.headers, of: request.origin)
        credential.signing?.learn(from: response)
        // A gateway's error does not tell whether the token is good.
        if !credential.isProven, !rules.refusals.mayApply(to: response.status),
            response.status.rawValue < 500,
            !RPCStatus.isRefusal(response, over: context.version), credential.prove()
        {
            authorizer.accepted(credential)
        }
        return response
    }

    /// Signs the request in place, if that takes no wait and can be undone: with a current credential
    /// that a response has proved, that is the same for each request, and that takes no other's place.
    func sign(_ request: inout Request, _ context: inout RequestContext) -> Bool {
        guard case .header(let field) = place.location,
            context.ownCredential == nil, let credential = authorizer.currentCredential(),
            credential.isProven, !credential.isPerRequest, origins.contains(request.origin),
            !request.headers.contains(like: field)
        else { return false }
        place.put(credential, as: field, in: &request.headers)
        note(credential, newFacts(context), &context)
        return true
    }

    /// Takes the credential out again.
    func unsign(_ request: inout Request) {
        if let field = place.fieldName { request.headers.remove(field) }
    }

    /// The facts before there is a credential; `nil` if the request is sent without the channel's.
    private func begin(
        _ request: Request,
        _ context: inout RequestContext
    ) throws -> AuthorizationFacts? {
        var facts = newFacts(context)
        // An earlier attempt's facts must not make this one look signed.
        context.authorization = nil
        guard origins.contains(request.origin) else { return nil }
        let isOccupied = place.isOccupied(in: request)
        facts.overrodeClient = isOccupied || rules.signatures?.isSigned(request) == true
        if facts.overrodeClient {
            switch rules.onClientCredential {
            case .replace: break
            case .keep: return nil
            case .reject: throw AuthorizationInterceptor.denied(isOccupied ? place : nil)
            }
        }
        return facts
    }

    /// Returns the facts without those of earlier attempts, except for the wait.
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
        context.sentCredential = credential
    }

    /// Adds the proof that a bound token goes with: its own for each attempt (RFC 9449 §4.1).
    private static func prove(_ request: inout Request, with credential: Credential) throws {
        guard let proof = credential.proof else { return }
        do {
            try proof.attach(to: &request)
        } catch {
            // Never sent without a proof: the token is bound.
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .unsafe,
                detail: "the key that the token is bound to cannot sign",
                status: 503
            )
        }
    }

    /// The refusal of a request with its own credential in a place, or else with its own signature.
    private static func denied(_ place: CredentialPlace?) -> NetworkError {
        let own =
            switch place?.location {
            case .header(let field): "\(field) field"
            case .query(let parameter): "\(parameter.name) parameter in the query"
            case .path: "credential in the path"
            case nil: "signature in the query"
            }
        return NetworkError(
            .httpRequestDenied,
            side: .downstream,
            retry: .safe,
            detail: "the request brings its own \(own); send it without one",
            status: 403
        )
    }
}
