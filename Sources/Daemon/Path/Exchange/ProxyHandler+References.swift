import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OAuth

/// What the fields of a request and of its response refer to, in the names of the app and of the upstream.
extension ProxyHandler {
    /// Turns what a field names beside the target into the upstream's words, and checks that the app may
    /// use it.
    func mapSecondTargets(
        in field: HTTPFieldName,
        of channel: Int,
        on app: some DownstreamExchange,
        _ exchange: inout Exchange
    ) throws(NetworkError) {
        let rules = channels.channels[channel].rules
        let values = exchange.head.headers.values(of: field)
        var mapped: [String] = []
        for value in values {
            let second = SecondTarget(
                value,
                in: field,
                base: rules.names.all.first?.basePath ?? "",
                upstream: rules.sentName(hostOf: exchange.head)
            ) { target in
                self.target(target, within: channel, as: exchange, on: app)
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
        within channel: Int,
        as exchange: borrowing Exchange,
        on app: some DownstreamExchange
    ) -> String? {
        var head = exchange.head
        var dedicated = exchange.dedicated
        head.target = target
        if case .absolute(_, let authority, _) = target {
            if authority == head.host, exchange.role == .origin {
                head.becomeDirect()
            } else if let own = listenAddresses.listener(
                namedBy: target,
                localAddress: app.localAddress
            ) {
                head.becomeDirect()
                dedicated = dedicated ?? own.channel
            } else {
                head.host = authority
            }
        }
        guard let route = try? channels.router.route(head, dedicated: dedicated),
            route.channel == channel
        else { return nil }
        return route.target
    }

    /// Edits what a response refers to, and notes what leads past netproxy.
    @inline(never)
    func edit(_ response: inout Response, _ exchange: inout Exchange) {
        guard let rules = exchange.channel?.rules, let view = exchange.view else { return }
        exchange.leads = rules.references(view, exchange.record.context.sentCredential)
            .edit(&response.headers)
        // The app must not sign in past netproxy.
        if !rules.clients.isEmpty, response.status == 401 || response.status == 403 {
            if response.status == 403 { rules.wantedScope?.learn(from: response.headers) }
            ResourceMetadataRemoval.edit(&response.headers)
        }
    }

    /// Has interim responses edited like the final one.
    func editInterim(of exchange: inout Exchange) {
        guard let rules = exchange.channel?.rules, let view = exchange.view,
            let write = exchange.record.context.onInformational
        else { return }
        exchange.record.context.onInformational = { status, headers in
            var headers = headers
            let credential = rules.stack.signing?.authorizer.currentCredential()
            _ = rules.references(view, credential).edit(&headers)
            try await write(status, headers)
        }
    }
}
