import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Decides whether a request may use its channel, by all checks in a fixed order.
///
/// A channel has only the checks that its configuration needs. A new check is an entry of `checks(of:)`,
/// with the reason for its position, and a case of `admit`. Not `Sendable`.
final class Admission {
    /// The name of a check.
    enum Check: Equatable {
        case host, page, preflight, outage, user, key, account, method, path, hiddenMetadata, rate
        case secondTarget, trace
    }

    /// The verdict on a request that passes all checks.
    enum Verdict {
        /// The request may go upstream.
        case admitted(Admitted)
        /// The request is a preflight, with netproxy's own response.
        case answered(Response)
    }

    /// An admitted request.
    struct Admitted {
        /// The target for the upstream; a credential in the path is replaced by its marker, unless it is
        /// the client's own.
        fileprivate(set) var target: String
        /// The same target without the client's own credential.
        fileprivate(set) var shownTarget: String
    }

    private let rules: ChannelRules
    private let checks: [Check]
    private let router: Router
    private let secondTargets: SecondTargetRules

    /// Prepares the checks of one channel of a table.
    init(to channel: Int, of table: ChannelTable, at addresses: ListenAddresses) {
        rules = table.channels[channel].rules
        checks = Admission.checks(of: rules)
        router = table.router
        secondTargets = SecondTargetRules(of: rules, at: channel, router, addresses)
    }

    /// Returns the checks of a channel in their order: who may see the channel, who may use it, for which
    /// requests, and how often.
    static func checks(of rules: ChannelRules) -> [Check] {
        let (access, scope) = (rules.access, rules.scope)
        let order: [(check: Check, isNeeded: Bool)] = [
            // Before all others: a web page whose own name resolves to netproxy (DNS rebinding) must learn
            // nothing about the channel.
            (.host, true),
            // Before users and keys: a browser acts for its user, regardless of the page's author.
            (.page, true),
            // After the page is admitted, but before a key is required: a preflight has neither a key nor
            // the method of the page's request.
            (.preflight, access.pages.listsOrigins),
            // Before users and keys: a channel in an outage may lack its own key, and no key opens it.
            (.outage, rules.outage != nil),
            // Before the key: an unlisted user must not be able to try keys.
            (.user, access.listsUsers),
            // Before the checks whose errors describe the channel's scope, which only its users may see.
            (.key, access.looksForKeys),
            // After the user and the key, which determine the credential.
            (.account, rules.accountChoice != nil || access.lent != nil),
            // With the router's target, which still contains a key from the client.
            (.method, !scope.methods.isEmpty),
            (.path, scope.limitsPaths),
            // After the paths: a path out of scope is refused as such, even if it leads to metadata.
            (.hiddenMetadata, rules.hidden != nil),
            // After all checks of the method and the path, so that refused requests do not use up the
            // rate.
            (.rate, rules.limiter != nil),
            // After the rate, which limits the work: every second target is routed like a request.
            (.secondTarget, true),
            // Last: with the target for the upstream, and without the fields that contained a key.
            (.trace, rules.sendsSecrets),
        ]
        return order.filter(\.isNeeded).map(\.check)
    }

    /// Admits a request, or refuses it.
    ///
    /// The checks record their findings in the exchange, even if they refuse the request.
    ///
    /// - Parameters:
    ///   - exchange: the exchange; fields with a key for netproxy are removed from its head.
    ///   - app: the exchange on the downstream connection.
    ///   - route: the route of the request.
    ///   - now: the time of a clock that all loops share.
    /// - Returns: the target for the upstream, or the response to a preflight.
    /// - Throws: the error of the first failed check.
    func admit<App: DownstreamExchange>(
        _ exchange: inout Exchange,
        from app: App,
        along route: Router.Route,
        at now: UInt64
    ) throws(NetworkError) -> Verdict {
        var admitted = Admitted(target: route.target, shownTarget: route.target)
        // Keep the client's own credential, unless it is a key for netproxy.
        if let own = route.ownCredential { admitted.target = rules.target(route.target, with: own) }
        // The lent key in the request, if any.
        var key: LentKey?
        for check in checks {
            switch check {
            case .host: try checkHost(exchange, app)
            case .page:
                try rules.access.pages.check(
                    exchange.head.headers,
                    at: exchange.head.host,
                    by: route.rule
                )
            case .preflight:
                if let response = preflight(exchange) { return .answered(response) }
            case .outage: if let outage = rules.outage { throw outage.refusal() }
            case .user: try rules.access.checkUser(app.peer.userID)
            case .key: key = try checkKey(&exchange, app, route, &admitted)
            case .account:
                if key != nil || rules.accountChoice != nil {
                    try rules.chooseAccounts(
                        for: key,
                        app.peer.userID,
                        &exchange.record.context
                    )
                }
            case .method: try rules.scope.checkMethod(of: exchange.head, target: route.target)
            case .path: try rules.scope.checkPath(route.target, exchange.head.headers)
            case .hiddenMetadata: try rules.hidden?.check(route.target)
            case .rate: try count(app.peer, key, at: now)
            case .secondTarget:
                for field in SecondTarget.fields(in: exchange.head.headers) {
                    try secondTargets.map(field, of: &exchange, from: app)
                }
            case .trace:
                try TraceRequest.refuse(exchange.head, target: admitted.target)
            }
        }
        return .admitted(admitted)
    }

    @inline(__always)
    private func checkHost<App: DownstreamExchange>(
        _ exchange: borrowing Exchange,
        _ app: App
    ) throws(NetworkError) {
        try rules.access.checkHost(
            exchange.head,
            isChannelHost: { router.isChannelHost($0.host) },
            localAddress: { app.localAddress }
        )
    }

    /// Returns the response to a preflight of a listed page; `nil` for all other requests.
    private func preflight(_ exchange: borrowing Exchange) -> Response? {
        guard exchange.page != nil, CrossOrigin.isPreflight(exchange.head) else { return nil }
        return CrossOrigin.answer(to: exchange.head, allowing: rules.scope.methods)
    }

    /// Checks the key, and removes it from the request, since it is for netproxy only.
    ///
    /// - Returns: the key, if it was lent.
    private func checkKey<App: DownstreamExchange>(
        _ exchange: inout Exchange,
        _ app: App,
        _ route: Router.Route,
        _ admitted: inout Admitted
    ) throws(NetworkError) -> LentKey? {
        let keys = try rules.access.checkKey(
            exchange.head,
            role: exchange.role,
            ownCredential: route.ownCredential
        )
        if let key = keys.lent { exchange.identify(app.peer.process, key: key.id) }
        keys.remove(from: &exchange.head.headers)
        if keys.isInPath { admitted.target = route.target }
        if !keys.parameters.isEmpty {
            admitted.target = keys.removed(from: admitted.target)
            admitted.shownTarget = keys.removed(from: admitted.shownTarget)
        }
        return keys.lent
    }

    private func count(
        _ peer: SocketPeer,
        _ key: LentKey?,
        at now: UInt64
    ) throws(NetworkError) {
        let client = RateClient(key: key?.id, userID: peer.userID, address: peer.address)
        try rules.limiter?.check(client, at: .nanoseconds(Int64(now)))
    }
}
