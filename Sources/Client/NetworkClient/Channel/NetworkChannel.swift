public import FoundationEssentials
import OriginTransport

/// The common configuration of all calls to one API.
///
/// It contains the transport, host, credential, interceptors and logger, and the defaults of the endpoints.
/// It is
/// a value: a changed copy is another channel over the same connections.
public struct NetworkChannel: Sendable {
    /// The transport that sends attempts.
    public var transport: any HTTPTransport
    /// The only allowed host of requests, as `host` or `host:port`; `nil` allows every host.
    ///
    /// A request to another host is refused before it is authorized or sent (`http_request_denied`). This
    /// restricts
    /// the requests of the program; `redirects` restricts the redirects of the host.
    public var host: String?
    /// The source of the credential.
    public var authorizer: (any Authorizing)?
    /// The place of the credential in a request; `nil` selects the field of the authorizer.
    ///
    /// That field is `Authorization` for all authorizers except `StaticAuthorizer.header`.
    public var credentialPlace: CredentialPlace?
    /// The interceptors of every call, outermost first, around retries and authorization.
    public var interceptors: [any RequestInterceptor]
    /// The logger for the events of calls.
    public var logger: (any NetworkLogger)?
    /// The hook for metrics and tracing; called on the executor of the call, so it must not block.
    public var onEvent: (@Sendable (NetworkEvent) -> Void)?
    /// The store for cookies; `nil`, the default, disables them.
    public var cookies: CookieJar?
    /// The `User-Agent` of requests without one from the endpoint or an interceptor; `nil` sends none.
    ///
    /// Default `netproxy-swift`.
    public var userAgent: String? = "netproxy-swift"
    /// Whether requests accept compressed content (gzip, deflate, br or zstd), which is then decompressed.
    ///
    /// Interceptors and the receiver see the decoded content, without `Content-Encoding` and
    /// `Content-Length`. The
    /// content of downloads, and of requests with `Range` or `Accept-Encoding: identity`, is not decoded.
    /// Default
    /// `true`.
    public var acceptsCompression = true
    /// The limits on decompressed content, unless the options of a call set others.
    public var decompression = DecompressionLimits()
    /// The policy for redirects.
    ///
    /// Default: up to 5 redirects of a GET or HEAD, without the credential to other origins.
    public var redirects = RedirectPolicy()
    /// The policy for retries; `nil` disables them.
    ///
    /// Default: `RetryPolicy()`.
    public var retry: RetryPolicy? = RetryPolicy()
    /// The budget for retries, shared by all copies of the channel.
    public var retryBudget = RetryBudget()
    /// The maximum size of a streamed request body that is kept for another attempt, in bytes.
    ///
    /// The body is kept for the replay after a 401 and, if the method is idempotent, for retries. Default 64
    /// KiB.
    public var replayLimit = 64 * 1024
    /// The maximum duration of a whole call, unless its endpoint or its options set one.
    ///
    /// Default: no limit; the transport's own timeouts always apply.
    public var timeout: Duration?
    /// The maximum time without a byte of a response's content, unless the endpoint or the options set one.
    ///
    /// With `timeout`, it limits a stream or a download up to its last byte. Default: no limit besides the
    /// transport's `idleTimeout` (10 minutes).
    public var stallTimeout: Duration?
    /// The responses that count as a success.
    ///
    /// Default 2xx.
    public var validation = SuccessRule.successful
    /// The rule for empty responses.
    public var emptyContent = EmptyContentRule()
    /// The decoder of content.
    public var decoder: any ContentDecoding = JSONDecoder()
    /// The encoder of JSON bodies.
    public var encoder = JSONEncoder()
    /// The encoder of queries and forms.
    public var formEncoder = URLFormEncoder()
    /// The maximum size of content in memory, in bytes; longer content is `http_response_body_size`.
    ///
    /// Downloads and streams have no limit. Default 16 MiB.
    public var contentLimit = 16 * 1024 * 1024
    /// Whether credentials may go to an `http` origin that is not loopback.
    ///
    /// Default `false`.
    public var allowsInsecureCredentials = false
    /// The maximum number of automatic resumptions of an interrupted download.
    ///
    /// Default 2.
    public var downloadResumptions = 2
    /// The clock for timeouts and the waits between attempts.
    public var clock: any NetworkClock = SystemClock()

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - transport: the transport that sends attempts, such as `PooledTransport`.
    ///   - host: the only allowed host of requests, as `host` or `host:port`.
    ///   - authorizer: the source of the credential, such as `OAuthManager`.
    ///   - interceptors: the interceptors of every call, outermost first.
    ///   - logger: the logger for the events of calls.
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
    /// Creates a channel to one host.
    ///
    /// It uses the shared connections of the process, or its own connections if `trust` is not the system's.
    ///
    /// - Parameters:
    ///   - host: the only allowed host of requests, as `host` or `host:port`.
    ///   - trust: the trusted certificates.
    ///   - authorizer: the source of the credential.
    ///   - interceptors: the interceptors of every call, outermost first.
    ///   - logger: the logger for the events of calls.
    /// - Throws: `NetworkError` if a file of the policy cannot be used, or a pin is invalid.
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

/// The use of the channel's credential in a call.
enum CallSigning: Hashable {
    case signed, unsigned
}

extension NetworkChannel {
    /// Returns the chain of a call.
    ///
    /// - Parameters:
    ///   - origin: the origin of the request, and the only one that receives the credential.
    ///   - signing: the use of the credential.
    ///   - extra: the call's own interceptors.
    ///   - redirects: the call's own policy.
    ///   - decompression: the call's own limits.
    ///   - transport: the transport at the end of the chain.
    /// - Returns: the chain.
    func chain(
        to origin: Origin,
        _ signing: CallSigning,
        extra: [any RequestInterceptor],
        redirects: RedirectPolicy? = nil,
        decompression: DecompressionLimits? = nil,
        transport: any HTTPTransport
    ) -> RequestChain {
        var stack = InterceptorStack()
        stack.fallbacks = userAgent.map {
            DefaultHeadersInterceptor(defaults: HTTPHeaders([HTTPField(checking: .userAgent, $0)]))
        }
        stack.cookies = cookies.map(CookieInterceptor.init)
        if acceptsCompression {
            stack.codings = .all(within: decompression ?? self.decompression)
        }
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
