import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// Requests that no channel claims: decides which of them the configuration allows.
struct UnclaimedRequests {
    let channels: ChannelTable

    /// What happens to one of them.
    enum Plan {
        /// It is forwarded as it is.
        case forward(ForwardPlan)
        /// It is answered here.
        case answer(Response)
        /// It opens a tunnel (CONNECT).
        case tunnel(Authority)
    }

    /// Plans one request, or refuses it.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - refusal: why no channel was found.
    ///   - app: its connection.
    /// - Returns: what to do with it.
    /// - Throws: the refusal, or what an access check throws.
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
            // The refusal lists the channels, which a web page whose own name leads here must not see.
            try AccessPolicy().checkHost(
                head,
                isChannelHost: isAdmitted,
                localAddress: { app.localAddress }
            )
            guard !WebPagePolicy.isWebPage(head.headers) else { throw UnclaimedRequests.withheld }
            throw refusal
        default: throw refusal
        }
    }

    /// Checks what protects from web pages: no user and no key is required here.
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
        try policy.pages.check(head.headers)
    }

    private static var withheld: NetworkError {
        NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail: "no matching channel (details withheld from browsers)",
            status: 403
        )
    }

    /// Whether a host is one of a channel's, or listed in any `access.hosts`.
    private func isAdmitted(_ host: Authority) -> Bool {
        channels.isChannelHost(host) || channels.channels.contains { $0.access.isListed(host) }
    }
}
