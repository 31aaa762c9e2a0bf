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
        on app: some AppSide,
        _ exchange: inout Exchange
    ) throws(NetworkError) {
        let shared = channels.channels[channel].shared
        let values = exchange.head.headers.values(of: field)
        var mapped: [String] = []
        for value in values {
            let second = SecondTarget(
                value,
                in: field,
                base: shared.names.all.first?.basePath ?? "",
                upstream: shared.sentName(hostOf: exchange.head)
            ) { target in
                self.target(target, within: channel, as: exchange, on: app)
            }
            try shared.scope.check(second, in: field)
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
        on app: some AppSide
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
        guard let shared = exchange.channel?.shared, let view = exchange.view else { return }
        exchange.leads = shared.references(view, exchange.record.context.sentCredential)
            .edit(&response.headers)
        // The app must not sign in past netproxy.
        if !shared.accounts.isEmpty, response.status == 401 || response.status == 403 {
            if response.status == 403 { shared.wantedScope?.learn(from: response.headers) }
            ResourceMetadataRemoval.edit(&response.headers)
        }
    }

    /// Has interim responses edited like the final one.
    func editInterim(of exchange: inout Exchange) {
        guard let shared = exchange.channel?.shared, let view = exchange.view,
            let write = exchange.record.context.onInformational
        else { return }
        exchange.record.context.onInformational = { status, headers in
            var headers = headers
            _ = shared.references(view, shared.accounts.first?.authorizer.currentCredential()).edit(
                &headers
            )
            try await write(status, headers)
        }
    }
}
