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

    /// Returns the upstream's target for a target in a field; `nil` if it does not belong to the channel.
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
