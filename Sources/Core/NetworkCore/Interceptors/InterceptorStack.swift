package import NetproxySettings

/// The only order in which interceptors process a request, outermost first.
///
/// Channels of the daemon and of programs set the steps that they use; the others are omitted. Add a new
/// interceptor to `interceptors`, unless it must run for every attempt. The record of an exchange is not a
/// step:
/// it begins before the channel is known and ends after the last byte, so the code around the chain writes
/// it.
package struct InterceptorStack: Sendable {
    /// The authorization of requests.
    package struct Signing: Sendable {
        /// The source of the credential.
        package var authorizer: any Authorizing
        /// The name of the identity, for the log; `nil` without names.
        package var identity: String?
        /// The cool-down of the credential, if there are others.
        package var rest = CredentialCoolDown()
        /// The place of the credential in a request; `nil` selects the authorizer's own field.
        package var place: CredentialPlace?
        /// The only origin that may receive the credential.
        package var origin: Origin
        /// Whether a request is sent again after a 401.
        package var replays = true
        /// The responses that refuse a credential.
        package var refusals = RefusalRule()
        /// The maximum number of bytes of a streamed body to keep for the retry.
        package var replayLimit: Int
        /// The store for longer bodies; `nil` if they are not kept.
        package var spill: BodySpill?
        /// The treatment of the client's own credential.
        package var onClientCredential = ClientCredentialPolicy.replace

        /// Creates a value that authorizes requests with the credentials of an authorizer.
        package init(by authorizer: any Authorizing, for origin: Origin, replayLimit: Int) {
            self.authorizer = authorizer
            self.origin = origin
            self.replayLimit = replayLimit
        }
    }

    /// The interceptor that edits fields.
    package var headers: DefaultHeadersInterceptor?
    /// The interceptors that run once per exchange: a program's own, and those of netproxy without a fixed
    /// position.
    package var interceptors: [any RequestInterceptor] = []
    /// The interceptor that adds the fields that neither the request nor an interceptor has set.
    package var fallbacks: DefaultHeadersInterceptor?
    /// The decoding of content; `nil` returns the content unchanged.
    package var codings: ContentCodings?
    /// The policy for redirects; `nil` returns each redirect as the response.
    package var redirects: RedirectPolicy?
    /// The interceptor that stores and sends cookies.
    package var cookies: (any RequestInterceptor)?
    /// The interceptor that retries failed requests.
    package var retry: RetryInterceptor?
    /// The authorization with the credential.
    package var signing: Signing?
    /// Further credentials, in order of preference after the first one is limited or dead.
    package var spareSignings: [Signing] = []
    /// The maximum number of bytes to keep of content without a length, for a second attempt after a 411.
    package var lengthLimit = 0
    /// The interceptor that refuses requests to other hosts and unencrypted credentials.
    package var originGuard: OriginGuard?

    /// The cool-downs, if there are several credentials.
    package var rests: [CredentialCoolDown] {
        spareSignings.isEmpty ? [] : ([signing].compactMap { $0 } + spareSignings).map(\.rest)
    }

    /// Creates an empty stack.
    package init() {}

    /// Returns the chain of the interceptors in their order, with a transport at the end.
    package func chain(to transport: any HTTPTransport) -> RequestChain {
        let order: [[RequestChain.Link]] = [
            // First, so that every attempt gets the same fields.
            steps(headers, RequestChain.Link.headers),
            // Outside retries and authorization, so that each of them sees one request and one response.
            interceptors.map { .other(RequestChain.Boxed($0)) },
            // After them, to add only the fields that no other step has set.
            steps(fallbacks, RequestChain.Link.headers),
            // Inside the program's interceptors, which see the same content as the program.
            steps(codings.map(CodingInterceptor.init), RequestChain.Link.coding),
            // Inside the program's interceptors, which see one response; outside the steps that apply to one
            // URL.
            steps(
                redirects.flatMap { policy in
                    guard policy.limit > 0 else { return nil }
                    return RedirectInterceptor(
                        policy: policy,
                        elsewhere: beyondItsOrigin.chain(to: transport)
                    )
                },
                RequestChain.Link.redirect
            ),
            // For each URL, because a redirect both sets and receives cookies.
            cookies.map { [.other(RequestChain.Boxed($0))] } ?? [],
            // Around reauthorization, so that a connection failure during the replay after a 401 is retried,
            // too.
            steps(retry, RequestChain.Link.retry),
            // Inside retries, which wait; another credential is tried immediately.
            accounts(to: transport),
        ]
        return RequestChain(order.flatMap { $0 }, transport: transport)
    }

    /// Returns the authorization steps: in this chain for one credential, in a chain per credential for
    /// several.
    private func accounts(to transport: any HTTPTransport) -> [RequestChain.Link] {
        guard let signing, !spareSignings.isEmpty else { return steps(of: signing) }
        let accounts = ([signing] + spareSignings).map { signing in
            FallbackInterceptor.Account(
                chain: RequestChain(steps(of: signing), transport: transport),
                rest: signing.rest
            )
        }
        return [
            .other(
                RequestChain.Boxed(
                    FallbackInterceptor(
                        accounts,
                        clock: signing.authorizer.clock,
                        replayLimit: signing.replayLimit,
                        spill: signing.spill
                    )
                )
            )
        ]
    }

    /// Returns the steps for each attempt with a credential.
    private func steps(of signing: Signing?) -> [RequestChain.Link] {
        let order: [[RequestChain.Link]] = [
            // Outside authorization, so that the second attempt gets the new credential.
            steps(
                signing.map {
                    ReauthorizationInterceptor(
                        authorizer: $0.authorizer,
                        replays: $0.replays,
                        replayLimit: $0.replayLimit,
                        spill: $0.spill,
                        refusals: $0.refusals
                    )
                },
                RequestChain.Link.reauthorization
            ),
            // Inside the steps that keep content for another attempt, because it uses their copy.
            steps(
                lengthLimit > 0 ? LengthInterceptor(limit: lengthLimit) : nil,
                RequestChain.Link.length
            ),
            // After all steps that could change the destination.
            steps(originGuard, RequestChain.Link.originGuard),
            // Last, because the credential must match the request as it is sent.
            steps(
                signing.map {
                    AuthorizationInterceptor(
                        authorizer: $0.authorizer,
                        place: $0.place,
                        origins: [$0.origin],
                        onClientCredential: $0.onClientCredential,
                        refusals: $0.refusals,
                        identity: $0.identity
                    )
                },
                RequestChain.Link.authorization
            ),
        ]
        return order.flatMap { $0 }
    }

    /// The stack for a request that a redirect sends to another origin.
    private var beyondItsOrigin: InterceptorStack {
        var stack = InterceptorStack()
        stack.cookies = cookies
        stack.retry = retry
        stack.lengthLimit = lengthLimit
        return stack
    }

    /// Returns the step of an interceptor, if there is one.
    private func steps<Interceptor>(
        _ interceptor: Interceptor?,
        _ step: (RequestChain.Boxed<Interceptor>) -> RequestChain.Link
    ) -> [RequestChain.Link] {
        interceptor.map { [step(RequestChain.Boxed($0))] } ?? []
    }
}
