import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import OriginTransport
import RequestLog

/// Requests that no channel claims: what the configuration allows of them, and tunnels.
extension ProxyHandler {
    /// What happens to a request that no channel claims.
    enum UnclaimedPlan {
        /// It is forwarded as it is.
        case forward(ForwardPlan)
        /// It is answered here.
        case answer(Response)
        /// It opens a tunnel (CONNECT).
        case tunnel(Authority)
    }

    /// Decides what the configuration allows, and refuses the rest.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - refusal: why no channel was found.
    ///   - app: its connection.
    /// - Throws: the refusal, or what an access check throws.
    func planUnclaimed(
        _ head: RequestHead,
        _ refusal: NetworkError,
        on app: DownstreamConnection
    ) throws(NetworkError) -> UnclaimedPlan {
        switch head.target {
        case .authority(let authority) where app.listener.channel == nil:
            try AccessPolicy().check(head, isChannelHost: { _ in false }, userID: app.peer.userID)
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
            try AccessPolicy().check(head, isChannelHost: { _ in false }, userID: app.peer.userID)
            return .forward(
                ForwardPlan(
                    origin: Origin(scheme: scheme, host: authority.host, port: authority.port),
                    target: target,
                    keyFields: keyFields(of: head)
                )
            )
        case .asterisk where refusal.kind == .noChannel:
            try AccessPolicy().check(head, isChannelHost: isAdmitted, userID: app.peer.userID)
            return .answer(MaxForwards.options)
        case .origin where refusal.kind == .noChannel:
            // The refusal lists the channels, which a web page whose own name leads here must not see.
            try AccessPolicy().checkHost(head, isChannelHost: isAdmitted)
            guard !AccessPolicy.isWebPage(head.headers) else { throw ProxyHandler.withheld }
            throw refusal
        default: throw refusal
        }
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

    /// The fields in which an app shows a key for this proxy.
    private func keyFields(of head: RequestHead) -> [HTTPFieldName] {
        head.headers.filter { field in
            channels.channels.contains { $0.access.isKey(field.value) }
        }
        .map(\.name)
    }

    /// Opens a blind tunnel (RFC 9110 §9.3.6): nothing of the request goes into it.
    func connect(
        to authority: Authority,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async throws(NetworkError) {
        let upstream = try await channels.forward.tunnel(
            to: authority,
            hasChannel: channels.router.isUpstream(authority),
            &exchange.record.context
        )
        await tunnel(
            to: upstream,
            opening: .connected,
            on: app,
            idleTimeout: ForwardProxy.tunnelIdle,
            &exchange
        )
    }

    /// Tells the app that its connection is now a tunnel, and carries bytes until it ends.
    ///
    /// - Parameters:
    ///   - upstream: the other end.
    ///   - opening: the head that opens the tunnel for the app.
    ///   - app: the connection that becomes the tunnel's end.
    ///   - idleTimeout: how long nothing may move in either direction.
    ///   - exchange: its record is written at the end.
    func tunnel(
        to upstream: any DuplexStream,
        opening: TunnelOpening,
        on app: DownstreamConnection,
        idleTimeout: Duration?,
        _ exchange: inout Exchange
    ) async {
        _ = app.beginResponse(mayPersist: false)
        do throws(NetworkError) {
            try await opening.write(to: app)
            exchange.status = opening.status
        } catch {
            upstream.close()
            exchange.fail(error, app.state.shutdown)
            return end(&exchange, app)
        }
        logTunnel(opening, exchange)
        let tunnel = Tunnel(on: loop, idleTimeout: idleTimeout)
        await tunnel.run(
            app: TunnelOpening.stream(to: app, idleTimeout: idleTimeout),
            upstream: upstream
        )
        (app.request.bytesIn, exchange.bytesOut) = (tunnel.bytesIn, tunnel.bytesOut)
        if let failure = tunnel.failure { exchange.failTunnel(failure, app.state.shutdown) }
        end(&exchange, app)
    }

    private func end(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        finish(&exchange, app)
        if exchange.hasFailed || exchange.isAborted { app.reset() } else { app.close() }
    }

    private func logTunnel(_ opening: TunnelOpening, _ exchange: borrowing Exchange) {
        var facts: [(name: String, value: EventRecord.Value)] = [
            ("request_id", .text(exchange.record.context.requestID))
        ]
        if let name = opening.upgrade { facts.append(("protocol", .text(name))) }
        if let address = exchange.record.context.upstreamAddress {
            facts.append(("upstream", .text(address)))
        }
        (exchange.channel?.log ?? channels.ownLog).write(
            EventRecord(
                time: .now,
                event: .upgrade,
                message: "a tunnel was opened",
                facts: facts
            ),
            now: .now
        )
        onLogged?()
    }
}
