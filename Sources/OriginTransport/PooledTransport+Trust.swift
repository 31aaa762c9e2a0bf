public import NetworkCore

extension PooledTransport {
    /// Starts a transport for servers that a policy trusts.
    ///
    /// - Parameters:
    ///   - trust: whose certificates are accepted.
    ///   - options: limits and times; authorities and pins are the policy's.
    /// - Throws: `NetworkError` when the files that the policy names cannot be used, or a pin is none.
    public convenience init(
        trust: TrustPolicy,
        options: UpstreamOptions = UpstreamOptions()
    ) throws {
        var options = options
        options.authorities = trust.authorities
        options.pins = trust.pins
        try self.init(options: options)
    }
}

extension PooledTransport {
    /// Every attempt ends at the context's deadline.
    public var keepsDeadlines: Bool { true }
}

extension NetworkChannel {
    /// Opens a channel to one host, over connections of its own.
    ///
    /// - Parameters:
    ///   - host: the only host that requests may go to, as `host` or `host:port`.
    ///   - trust: whose certificates are accepted.
    ///   - authorizer: knows the credential.
    ///   - interceptors: of every call, outermost first.
    ///   - logger: records what happens.
    /// - Throws: `NetworkError` when the files that the policy names cannot be used, or a pin is none.
    public init(
        host: String,
        trust: TrustPolicy = .system,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = [],
        logger: (any NetworkLogger)? = nil
    ) throws {
        self.init(
            transport: try PooledTransport(trust: trust),
            host: host,
            authorizer: authorizer,
            interceptors: interceptors,
            logger: logger
        )
    }
}
