import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// Checks the targets in the fields of a channel's requests, and translates them into the upstream's
/// names.
struct SecondTargetRules {
    private let rules: ChannelRules
    /// The index in the configuration's list of channels.
    private let channel: Int
    private let router: Router
    private let addresses: ListenAddresses

    /// Creates the rules of a channel.
    init(
        of rules: ChannelRules,
        at channel: Int,
        _ router: Router,
        _ addresses: ListenAddresses
    ) {
        self.rules = rules
        self.channel = channel
        self.router = router
        self.addresses = addresses
    }

    /// Translates the values of a field, and checks that the client may use their targets.
    ///
    /// - Throws: `http_request_denied` with 403, or `http_request_error` with 400 for a target out of the
    ///   upstream's base path.
    func map(
        _ field: HTTPFieldName,
        of exchange: inout Exchange,
        from app: some DownstreamExchange
    ) throws(NetworkError) {
        let values = exchange.head.headers.values(of: field)
        var mapped: [String] = []
        for value in values {
            let second = SecondTarget(
                value,
                in: field,
                base: rules.names.all.first?.basePath ?? "",
                upstream: rules.sentName(hostOf: exchange.head)
            ) { target in
                place(of: target, as: exchange, from: app)
            }
            try rules.scope.check(second, in: field)
            guard !second.isOutside else {
                throw NetworkError(
                    .httpRequestError,
                    side: .downstream,
                    detail: "\(field) leads out of the upstream's base path",
                    status: 400
                )
            }
            mapped.append(second.value ?? value)
        }
        guard mapped != values else { return }
        exchange.head.headers.remove(field)
        for value in mapped { exchange.head.headers.append(field, validated: value) }
    }

    /// Returns the destination of a target in a field.
    private func place(
        of target: RequestTarget,
        as exchange: borrowing Exchange,
        from app: some DownstreamExchange
    ) -> SecondTarget.Place {
        var head = exchange.head
        var isOwn = false
        var dedicated = exchange.dedicated
        head.target = target
        if case .absolute(let scheme, let authority, _) = target {
            isOwn =
                rules.names.isOwn(authority, scheme, calledByApp: head.host)
                || router.isChannelHost(authority.host)
            if authority == head.host, exchange.role == .origin {
                isOwn = true
                head.becomeDirect()
            } else if let own = addresses.listener(
                namedBy: target,
                localAddress: app.localAddress
            ) {
                isOwn = true
                head.becomeDirect()
                dedicated = dedicated ?? own.channel
            } else {
                head.host = authority
            }
        }
        guard let route = try? router.route(head, dedicated: dedicated), route.channel == channel
        else { return isOwn ? .outside : .elsewhere }
        return .routed(route.target)
    }
}
