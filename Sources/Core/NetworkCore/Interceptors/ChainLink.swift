extension RequestChain {
    /// An interceptor as the chain runs it.
    ///
    /// Each built-in interceptor has its own case, so that the chain can call it directly.
    enum Link {
        case headers(Boxed<DefaultHeadersInterceptor>)
        case coding(Boxed<CodingInterceptor>)
        case redirect(Boxed<RedirectInterceptor>)
        case retry(Boxed<RetryInterceptor>)
        case reauthorization(Boxed<ReauthorizationInterceptor>)
        case length(Boxed<LengthInterceptor>)
        case originGuard(Boxed<OriginGuard>)
        case authorization(Boxed<AuthorizationInterceptor>)
        case other(Boxed<any RequestInterceptor>)

        var interceptor: any RequestInterceptor {
            switch self {
            case .headers(let place): place.interceptor
            case .coding(let place): place.interceptor
            case .redirect(let place): place.interceptor
            case .retry(let place): place.interceptor
            case .reauthorization(let place): place.interceptor
            case .length(let place): place.interceptor
            case .originGuard(let place): place.interceptor
            case .authorization(let place): place.interceptor
            case .other(let place): place.interceptor
            }
        }

        var isReviewer: Bool {
            switch self {
            case .coding, .redirect, .retry, .reauthorization: true
            default: false
            }
        }

        /// Whether the step accepts a response without further work.
        func accepts(_ response: borrowing Response, _ context: borrowing RequestContext) -> Bool {
            switch self {
            case .coding(let place): place.interceptor.accepts(response)
            case .redirect(let place): place.interceptor.accepts(response)
            case .retry(let place): place.interceptor.accepts(response)
            case .reauthorization(let place): place.interceptor.accepts(response, context)
            default: true
            }
        }
    }

    /// A reference to an interceptor, so that visiting it does not copy it.
    final class Boxed<Interceptor: Sendable>: Sendable {
        let interceptor: Interceptor

        init(_ interceptor: Interceptor) {
            self.interceptor = interceptor
        }
    }
}
