import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Decides whether a request may use its channel: all checks, in the one order in which they run.
///
/// A channel has only the checks that its configuration needs. A new check is an entry of `checks(of:)`,
/// with the reason for its place, and a case of `admit`. Not `Sendable`.
final class Admission {
    /// A check by its name.
    enum Check: Equatable {
        case host, page, preflight, outage, user, key, account, method, path, hiddenMetadata, rate
        case secondTarget, trace
    }

    /// The verdict on a request that no check refuses.
    enum Verdict {
        /// It goes upstream.
        case admitted(Admitted)
        /// It is a preflight, which netproxy answers.
        case answered(Response)
    }

    /// A request that may pass.
    struct Admitted {
        /// The target for the upstream; a credential in the path is its marker, unless the app brings one.
        fileprivate(set) var target: String
        /// The same without a credential that the app brings.
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

    /// The checks of a channel, in their order: who may know of it, who may use it, for which requests,
    /// and how often.
    static func checks(of rules: ChannelRules) -> [Check] {
        let (access, scope) = (rules.access, rules.scope)
        let order: [(check: Check, isNeeded: Bool)] = [
            // First of all others: a web page whose own name leads here (DNS rebinding) must learn nothing
            // of the channel.
            (.host, true),
            // Before users and keys: a browser acts for its user, whoever made the page.
            (.page, true),
            // After the page is admitted, and before a key is required: a preflight can carry no key, and
            // its method is not the one that the page wants.
            (.preflight, access.pages.listsOrigins),
            // Before users and keys: a channel in an outage may lack its own key, and no key opens it.
            (.outage, rules.outage != nil),
            // Before the key: a user who is not listed must not be able to try keys.
            (.user, access.listsUsers),
            // Before all that describes the channel's scope: that is for those who may use it.
            (.key, access.looksForKeys),
            // After the user and the key, which choose the credential.
            (.account, rules.accountChoice != nil || access.lent != nil),
            // With the target as the router made it, which still contains a key that the app has shown.
            (.method, !scope.methods.isEmpty),
            (.path, scope.limitsPaths),
            // After the paths: a path out of scope is refused as such, even if it leads to metadata.
            (.hiddenMetadata, rules.hidden != nil),
            // After all that refuses a request for its method or path: such a request uses up no rate.
            (.rate, rules.limiter != nil),
            // After the rate, which bounds the work: every second target is routed like a request.
            (.secondTarget, true),
            // Last: with the target that goes upstream, and without the fields that had a key.
            (.trace, rules.sendsSecrets),
        ]
        return order.filter(\.isNeeded).map(\.check)
    }

    /// Admits a request, or refuses it; its exchange learns what the checks find out, also of a refusal.
    ///
    /// - Parameters:
    ///   - exchange: its exchange; fields that contain a key for netproxy are removed from its head.
    ///   - app: its connection.
    ///   - route: its route.
    ///   - now: the time, by a clock that all loops share.
    /// - Returns: the target for the upstream, or the response to a preflight.
    /// - Throws: the refusal of the first check that it fails.
    func admit<App: DownstreamExchange>(
        _ exchange: inout Exchange,
        from app: App,
        along route: Router.Route,
        at now: UInt64
    ) throws(NetworkError) -> Verdict {
        var admitted = Admitted(target: route.target, shownTarget: route.target)
        // A credential of the app's own, unless that is a key for netproxy.
        if let own = route.ownCredential { admitted.target = rules.target(route.target, with: own) }
        // The key that was lent to the app, if it has shown one.
        var key: LentKey?
        for check in checks {
            switch check {
            case .host: try checkHost(exchange, app)
            case .page: try rules.access.pages.check(exchange.head.headers)
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

    /// The response to a preflight of a listed page; `nil` for all other requests.
    private func preflight(_ exchange: borrowing Exchange) -> Response? {
        guard exchange.page != nil, CrossOrigin.isPreflight(exchange.head) else { return nil }
        return CrossOrigin.answer(to: exchange.head, allowing: rules.scope.methods)
    }

    /// Checks the key, and takes it out of the request: it is for netproxy only.
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
        for field in keys.fields { exchange.head.headers.removeAll(like: field) }
        if keys.isInPath { admitted.target = route.target }
        if keys.isInQuery, let parameter = rules.place?.parameter {
            admitted.target = parameter.removed(from: admitted.target)
            admitted.shownTarget = admitted.target
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
