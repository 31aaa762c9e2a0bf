import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// Checks the targets that requests of a channel name in fields, and maps them to the upstream's names.
struct SecondTargetRules {
    private let rules: ChannelRules
    /// The channel's position in the configuration's list.
    private let channel: Int
    private let router: Router
    private let addresses: ListenAddresses

    /// Makes the rules of a channel.
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

    /// Maps the values of a field, and checks that the app may use the targets in them.
    ///
    /// - Throws: `http_request_denied` with 403.
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
                self.target(target, as: exchange, from: app)
            }
            try rules.scope.check(second, in: field)
            mapped.append(second.value ?? value)
        }
        guard mapped != values else { return }
        exchange.head.headers.remove(field)
        for value in mapped { exchange.head.headers.append(field, validated: value) }
    }

    /// The upstream's target for another target than the request's; `nil` if it is not one of the channel.
    private func target(
        _ target: RequestTarget,
        as exchange: borrowing Exchange,
        from app: some DownstreamExchange
    ) -> String? {
        var head = exchange.head
        var dedicated = exchange.dedicated
        head.target = target
        if case .absolute(_, let authority, _) = target {
            if authority == head.host, exchange.role == .origin {
                head.becomeDirect()
            } else if let own = addresses.listener(
                namedBy: target,
                localAddress: app.localAddress
            ) {
                head.becomeDirect()
                dedicated = dedicated ?? own.channel
            } else {
                head.host = authority
            }
        }
        guard let route = try? router.route(head, dedicated: dedicated), route.channel == channel
        else { return nil }
        return route.target
    }
}
