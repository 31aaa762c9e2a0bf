/// The one order in which interceptors see a request, outermost first.
///
/// A channel of the daemon and one of a program set the steps that they use; the others are omitted.
/// A new step of netproxy's own goes to `interceptors`, unless it has to run for every attempt.
/// The record of an exchange is not among the steps: it begins before a channel is known and ends
/// after the last byte, so the code around the chain writes it.
package struct InterceptorStack: Sendable {
    /// The signing of requests.
    package struct Signing: Sendable {
        /// Supplies the credential.
        package var authorizer: any Authorizing
        /// The name of the account, for the log; `nil` without names.
        package var identity: String?
        /// The cool-down of the account, if there are others.
        package var rest = CredentialRest()
        /// The place of the credential in a request; `nil`: the authorizer's own field.
        package var place: CredentialPlace?
        /// The only origin that may get the credential.
        package var origin: Origin
        /// Whether a request is sent again after a 401.
        package var replays = true
        /// The responses that refuse a credential.
        package var refusals = RefusalRule()
        /// The number of bytes of a streamed body that are kept for the retry.
        package var replayLimit: Int
        /// The store for longer bodies; `nil` if they are not kept.
        package var spill: BodySpill?
        /// The treatment of a credential in the request.
        package var onClientCredential = AuthorizationInterceptor.ClientCredentialPolicy.replace

        /// Signs with the credentials of an authorizer.
        package init(by authorizer: any Authorizing, for origin: Origin, replayLimit: Int) {
            self.authorizer = authorizer
            self.origin = origin
            self.replayLimit = replayLimit
        }
    }

    /// Edits fields.
    package var headers: DefaultHeadersInterceptor?
    /// Interceptors that see one request and one response per exchange: a program's own, and any of
    /// netproxy's that need no other place.
    package var interceptors: [any RequestInterceptor] = []
    /// Adds fields that neither the request nor an interceptor has set.
    package var fallbacks: DefaultHeadersInterceptor?
    /// The decoding of content; `nil` passes its bytes on unchanged.
    package var codings: ContentCodings?
    /// The redirects that are followed; `nil` returns each as the response.
    package var redirects: RedirectPolicy?
    /// Keeps and sends cookies.
    package var cookies: (any RequestInterceptor)?
    /// Repeats failed requests.
    package var retry: RetryInterceptor?
    /// Adds the credential.
    package var signing: Signing?
    /// Further credentials, in the order in which they are used when those before are limited or dead.
    package var spareSignings: [Signing] = []
    /// The number of bytes of content without a length that are kept, to be sent with a length after a 411.
    package var lengthLimit = 0
    /// Refuses requests that must not leave.
    package var originGuard: OriginGuard?

    /// The cool-downs of several credentials.
    package var rests: [CredentialRest] {
        spareSignings.isEmpty ? [] : ([signing].compactMap { $0 } + spareSignings).map(\.rest)
    }

    /// An empty stack.
    package init() {}

    /// The interceptors in their order, before a transport.
    package func chain(to transport: any HTTPTransport) -> RequestChain {
        let order: [[RequestChain.Step]] = [
            // First, so that the channel adds the same fields to every attempt.
            steps(headers, RequestChain.Step.headers),
            // Outside of retries and signing: each of them sees one request and one response.
            interceptors.map { .other(RequestChain.Place($0)) },
            // After them: only fields that no other step has set.
            steps(fallbacks, RequestChain.Step.headers),
            // Inside of a program's interceptors, which see the same content as the program.
            steps(codings.map(CodingInterceptor.init), RequestChain.Step.coding),
            // Inside of a program's interceptors, which see one response; outside of what belongs to
            // one URL.
            steps(
                redirects.flatMap { policy in
                    guard policy.limit > 0 else { return nil }
                    return RedirectInterceptor(
                        policy: policy,
                        elsewhere: beyondItsOrigin.chain(to: transport)
                    )
                },
                RequestChain.Step.redirect
            ),
            // For each URL: a redirect sets and gets cookies.
            cookies.map { [.other(RequestChain.Place($0))] } ?? [],
            // Around reauthorization: a connection that fails while a 401 is answered is retried, too.
            steps(retry, RequestChain.Step.retry),
            // Inside of retries, which wait; another credential is tried at once.
            accounts(to: transport),
        ]
        return RequestChain(order.flatMap { $0 }, transport: transport)
    }

    /// The signing steps: one credential signs in this chain, several each in their own.
    private func accounts(to transport: any HTTPTransport) -> [RequestChain.Step] {
        guard let signing, !spareSignings.isEmpty else { return steps(of: signing) }
        let accounts = ([signing] + spareSignings).map { signing in
            FallbackInterceptor.Account(
                chain: RequestChain(steps(of: signing), transport: transport),
                rest: signing.rest
            )
        }
        return [
            .other(
                RequestChain.Place(
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

    /// The steps that see each attempt with a credential.
    private func steps(of signing: Signing?) -> [RequestChain.Step] {
        let order: [[RequestChain.Step]] = [
            // Outside of signing, so that the second attempt gets the new credential.
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
                RequestChain.Step.reauthorization
            ),
            // Inside of the steps that keep content for another attempt, since it uses their copy.
            steps(
                lengthLimit > 0 ? LengthInterceptor(limit: lengthLimit) : nil,
                RequestChain.Step.length
            ),
            // After everything that could change where the request goes.
            steps(originGuard, RequestChain.Step.originGuard),
            // Last: the credential is for the request as it leaves.
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
                RequestChain.Step.authorization
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

    /// The step of an interceptor, if there is one.
    private func steps<Interceptor>(
        _ interceptor: Interceptor?,
        _ step: (RequestChain.Place<Interceptor>) -> RequestChain.Step
    ) -> [RequestChain.Step] {
        interceptor.map { [step(RequestChain.Place($0))] } ?? []
    }
}
