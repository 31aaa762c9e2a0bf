import NetworkCore

/// The order in which a channel's interceptors see a request, outermost first.
///
/// The record of an exchange is not among them: it begins before a channel is known and ends after
/// the last byte, so the handler around the chain writes it.
struct InterceptorStack {
    var headers: DefaultHeadersInterceptor
    var retry: RetryInterceptor?
    var authorizer: (any Authorizing)?
    var replaysUnauthorized: Bool
    var replayLimit: Int
    var spill: BodySpill?
    /// Where the credential may go.
    var origin: Origin
    var onClientCredential: AuthorizationInterceptor.ClientCredentialPolicy

    /// The interceptors; one that would do nothing is left out.
    var interceptors: [any RequestInterceptor] {
        var stack: [any RequestInterceptor] = []
        // First, so that what the channel adds is the same for every attempt.
        if !headers.isIdle { stack.append(headers) }
        // Around reauthorization: a fault of the connection while a 401 is cured is a fault, too.
        if let retry { stack.append(retry) }
        if let authorizer {
            // Outside of injection, so that the second attempt is signed afresh.
            stack.append(
                ReauthorizationInterceptor(
                    authorizer: authorizer,
                    replays: replaysUnauthorized,
                    replayLimit: replayLimit,
                    spill: spill
                )
            )
            // Last: nothing behind it may change where the request goes.
            stack.append(
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [origin],
                    onClientCredential: onClientCredential
                )
            )
        }
        return stack
    }
}
