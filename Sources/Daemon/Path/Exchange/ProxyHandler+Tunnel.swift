import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore
import OriginTransport

/// Tunnels after CONNECT, and after a switch to another protocol.
extension ProxyHandler {
    /// Opens a blind tunnel (RFC 9110 §9.3.6), which carries nothing of the request itself.
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
            idle: ForwardProxy.tunnelIdle,
            &exchange
        )
    }

    /// Turns the client's connection into a tunnel, and copies bytes until it ends.
    ///
    /// - Parameters:
    ///   - upstream: the other end.
    ///   - opening: the head that opens the tunnel for the client.
    ///   - app: the client's connection.
    ///   - idle: the longest time without progress in either direction.
    ///   - exchange: the exchange, whose record is written at the end.
    func tunnel(
        to upstream: any DuplexStream,
        opening: TunnelOpening,
        on app: DownstreamConnection,
        idle: TimeSetting,
        _ exchange: inout Exchange
    ) async {
        _ = app.beginResponse(.close)
        do throws(NetworkError) {
            try await opening.write(to: app)
            exchange.status = opening.status
        } catch {
            upstream.close()
            exchange.fail(error, app.state.shutdown)
            return endTunnel(&exchange, app)
        }
        recorder.note(opening, in: exchange)
        let tunnel = Tunnel(on: loop, idle: idle)
        await tunnel.run(
            app: TunnelOpening.stream(to: app, idleTimeout: idle.value),
            upstream: upstream
        )
        app.request.bytesIn += tunnel.bytesIn
        exchange.bytesOut = tunnel.bytesOut
        if let failure = tunnel.failure { exchange.failTunnel(failure, app.state.shutdown) }
        endTunnel(&exchange, app)
    }

    private func endTunnel(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        recorder.record(&exchange, app)
        if exchange.hasFailed || exchange.isAborted { app.reset() } else { app.close() }
    }
}
