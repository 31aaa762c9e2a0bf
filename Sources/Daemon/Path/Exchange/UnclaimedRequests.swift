import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// Decides which requests without a channel are allowed.
struct UnclaimedRequests {
    let channels: ChannelTable

    /// The plan for one request.
    enum Plan {
        /// Forward the request unchanged.
        case forward(ForwardPlan)
        /// Send netproxy's own response.
        case answer(Response)
        /// Open a tunnel (CONNECT).
        case tunnel(Authority)
    }

    /// Plans one request, or refuses it.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - refusal: the error of the router, which found no channel.
    ///   - app: the exchange on the downstream connection.
    /// - Returns: the plan.
    /// - Throws: the refusal, or the error of an access check.
    func plan(
        _ head: RequestHead,
        _ refusal: NetworkError,
        on app: some DownstreamExchange
    ) throws(NetworkError) -> Plan {
        switch head.target {
        case .authority(let authority) where app.listener.channel == nil:
            try checkPage(head, isChannelHost: { _ in false }, on: app)
            guard head.framing == .none else {
                throw NetworkError(
                    .httpRequestError,
                    side: .downstream,
                    detail: "a CONNECT request must not have a body",
                    status: 400
                )
            }
            return .tunnel(authority)
        case .absolute(let scheme, let authority, let target)
        where refusal.kind == .noChannel && channels.forward.forwards(scheme):
            try checkPage(head, isChannelHost: { _ in false }, on: app)
            return .forward(
                ForwardPlan(
                    origin: Origin(scheme: scheme, host: authority.host, port: authority.port),
                    target: target,
                    shownTarget: target
                )
            )
        case .asterisk where refusal.kind == .noChannel:
            try checkPage(head, isChannelHost: isAdmitted, on: app)
            return .answer(MaxForwards.options)
        case .origin where refusal.kind == .noChannel:
            // The refusal lists the channels, which a web page whose own name resolves to netproxy must
            // not see.
            try AccessPolicy().checkHost(
                head,
                isChannelHost: isAdmitted,
                localAddress: { app.localAddress }
            )
            guard !WebPagePolicy.isWebPage(head.headers, at: head.host) else {
                throw UnclaimedRequests.withheld
            }
            throw refusal
        default: throw refusal
        }
    }

    /// Runs the checks that protect from web pages; no user or key is required here.
    private func checkPage(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool,
        on app: some DownstreamExchange
    ) throws(NetworkError) {
        let policy = AccessPolicy()
        try policy.checkHost(
            head,
            isChannelHost: isChannelHost,
            localAddress: { app.localAddress }
        )
        try policy.pages.check(head.headers, at: head.host)
    }

    private static var withheld: NetworkError {
        NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail: "no matching channel (details withheld from browsers)",
            status: 403
        )
    }

    /// Whether a channel claims the host, or any `access.hosts` lists it.
    private func isAdmitted(_ host: Authority) -> Bool {
        channels.isChannelHost(host) || channels.channels.contains { $0.access.isListed(host) }
    }
}
