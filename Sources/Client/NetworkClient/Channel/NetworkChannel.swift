public import FoundationEssentials
import OriginTransport

/// Everything that the calls to one API have in common, fixed once: transport, host, credential,
/// interceptors, logger, and the defaults of its endpoints.
///
/// A value: a changed copy is another channel over the same connections.
public struct NetworkChannel: Sendable {
    /// Sends attempts.
    public var transport: any HTTPTransport
    /// The only host that requests may go to, as `host` or `host:port`; `nil` allows every host.
    ///
    /// A request for another one is refused before it is signed or sent (`http_request_denied`). That binds what
    /// the program asks for; `redirects` says where the host may send it on to.
    public var host: String?
    /// Supplies the credential.
    public var authorizer: (any Authorizing)?
    /// Where the credential goes in a request; `nil`: into the field of the authorizer, which is
    /// `Authorization` for all but `StaticAuthorizer.header`.
    public var credentialPlace: CredentialPlace?
    /// Interceptors of every call, outermost first, around retries and authorization.
    public var interceptors: [any RequestInterceptor]
    /// Records the events of calls.
    public var logger: (any NetworkLogger)?
    /// Told of what happens, for metrics and tracing; called where the call runs, so it must not
    /// block.
    public var onEvent: (@Sendable (NetworkEvent) -> Void)?
    /// Keeps cookies and sends them back; `nil`, the default, has none.
    public var cookies: CookieJar?
    /// The `User-Agent` of requests for which neither the endpoint nor an interceptor sets one; `nil` sends
    /// none.
    ///
    /// Default `netproxy-swift`.
    public var userAgent: String? = "netproxy-swift"
    /// Whether compressed content is asked for, in gzip, deflate, br or zstd, and decompressed.
    ///
    /// Interceptors and the receiver see what it decodes to, without `Content-Encoding` and
    /// `Content-Length`. Downloads, and requests that name a `Range` or `Accept-Encoding: identity`, get
    /// their bytes as they are. Default yes.
    public var acceptsCompression = true
    /// The redirects that are followed.
    ///
    /// Default: up to 5 of a GET or HEAD, without the credential to other origins.
    public var redirects = RedirectPolicy()
    /// The attempts that are repeated; `nil` repeats none.
    ///
    /// Default: `RetryPolicy()`.
    public var retry: RetryPolicy? = RetryPolicy()
    /// The budget for retries, shared by all copies of the channel.
    public var retryBudget = RetryBudget()
    /// The largest streamed request body that is kept for another attempt, in bytes: after a 401, and
    /// where the method is idempotent after whatever `retry` repeats.
    ///
    /// Default 64 KiB.
    public var replayLimit = 64 * 1024
    /// The maximum duration of a whole call, unless its endpoint or its options set one.
    ///
    /// Default: no limit; the transport's own timeouts hold in any case.
    public var timeout: Duration?
    /// The responses that count as a success.
    ///
    /// Default 2xx.
    public var validation = SuccessRule.successful
    /// The responses that may be empty.
    public var emptyContent = EmptyContentRule()
    /// Decodes content.
    public var decoder: any ContentDecoding = JSONDecoder()
    /// Encodes JSON bodies.
    public var encoder = JSONEncoder()
    /// Encodes queries and forms.
    public var formEncoder = URLFormEncoder()
    /// The largest content that is kept in memory, in bytes; longer content is
    /// `http_response_body_size`.
    ///
    /// Downloads and streams have no limit.
    ///
    /// Default 16 MiB.
    public var contentLimit = 16 * 1024 * 1024
    /// Whether credentials may go to an `http` origin that is not loopback.
    ///
    /// Default no.
    public var allowsInsecureCredentials = false
    /// The number of times that an interrupted download continues by itself.
    ///
    /// Default 2.
    public var downloadResumptions = 2
    /// Measures timeouts, and the waits between attempts.
    public var clock: any NetworkClock = SystemClock()

    /// Describes a channel.
    ///
    /// - Parameters:
    ///   - transport: sends attempts, such as `PooledTransport`.
    ///   - host: the only host that requests may go to, as `host` or `host:port`.
    ///   - authorizer: knows the credential, such as `OAuthManager`.
    ///   - interceptors: of every call, outermost first.
    ///   - logger: records the events of calls.
    public init(
        transport: any HTTPTransport,
        host: String? = nil,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = [],
        logger: (any NetworkLogger)? = nil
    ) {
        self.transport = transport
        self.host = host
        self.authorizer = authorizer
        self.interceptors = interceptors
        self.logger = logger
    }
}

extension NetworkChannel {
    /// Opens a channel to one host: over the connections that the process shares, or its own where it trusts
    /// other servers than the system does.
    ///
    /// - Parameters:
    ///   - host: the only host that requests may go to, as `host` or `host:port`.
    ///   - trust: whose certificates are accepted.
    ///   - authorizer: knows the credential.
    ///   - interceptors: of every call, outermost first.
    ///   - logger: records the events of calls.
    /// - Throws: `NetworkError` when the files that the policy names cannot be used, or a pin is invalid.
    public init(
        host: String,
        trust: TrustPolicy = .system,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = [],
        logger: (any NetworkLogger)? = nil
    ) throws {
        self.init(
            transport: trust == .system ? SharedTransport() : try PooledTransport(trust: trust),
            host: host,
            authorizer: authorizer,
            interceptors: interceptors,
            logger: logger
        )
    }
}

/// Whether a call carries the channel's credential.
enum CallSigning: Hashable {
    case signed, unsigned
}

extension NetworkChannel {
    /// Makes the chain of a call.
    ///
    /// - Parameters:
    ///   - origin: the origin of the request, and the only one that gets the credential.
    ///   - signing: whether the chain adds the credential.
    ///   - extra: the call's own interceptors.
    ///   - redirects: the call's own policy.
    ///   - transport: the transport at the end of the chain.
    /// - Returns: the chain.
    func chain(
        to origin: Origin,
        _ signing: CallSigning,
        extra: [any RequestInterceptor],
        redirects: RedirectPolicy? = nil,
        transport: any HTTPTransport
    ) -> RequestChain {
        var stack = InterceptorStack()
        stack.fallbacks = userAgent.map {
            DefaultHeadersInterceptor(defaults: HTTPHeaders([HTTPField(checking: .userAgent, $0)]))
        }
        stack.cookies = cookies.map(CookieInterceptor.init)
        if acceptsCompression { stack.codings = .all }
        stack.redirects = redirects ?? self.redirects
        stack.interceptors = interceptors + extra
        stack.retry = retry.map {
            RetryInterceptor(
                policy: $0,
                budget: retryBudget,
                replayLimit: replayLimit,
                clock: clock
            )
        }
        let signer = signing == .signed ? authorizer?.timed() : nil
        stack.signing = signer.map {
            InterceptorStack.Signing(by: $0, for: origin, replayLimit: replayLimit)
        }
        stack.signing?.place = credentialPlace
        let originGuard = OriginGuard(
            host: host,
            credential: signer == nil ? .none : .only(origin, inClear: allowsInsecureCredentials)
        )
        if !originGuard.isIdle { stack.originGuard = originGuard }
        return stack.chain(to: transport.timed(by: clock))
    }
}
