import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import OriginTransport
import RequestLog

extension ProxyHandler {
    /// Tells the app that the connection is now a tunnel, and carries bytes until it ends.
    ///
    /// - Parameters:
    ///   - upstream: the other end.
    ///   - opening: the head that opens the tunnel for the app.
    ///   - app: whose connection becomes the other end.
    ///   - idleTimeout: how long nothing may move in either direction.
    ///   - exchange: its record is written at the end.
    func tunnel(
        to upstream: any DuplexStream,
        opening: TunnelOpening,
        on app: DownstreamConnection,
        idleTimeout: Duration?,
        _ exchange: inout Exchange
    ) async {
        app.beginAnswer()
        do {
            try await app.write(opening)
            exchange.status = opening.status
        } catch {
            upstream.close()
            exchange.fail(error)
            return end(&exchange, app)
        }
        tellOpened(opening, exchange)
        let tunnel = Tunnel(on: loop, idleTimeout: idleTimeout)
        await tunnel.run(app: app.tunnelEnd(idleTimeout: idleTimeout), upstream: upstream)
        (app.current.bytesIn, exchange.bytesOut) = (tunnel.bytesIn, tunnel.bytesOut)
        if let failure = tunnel.failure { exchange.failTunnel(failure) }
        end(&exchange, app)
    }

    private func end(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        finish(&exchange, app)
        if exchange.hasFailed || exchange.isAborted { app.reset() } else { app.close() }
    }

    private func tellOpened(_ opening: TunnelOpening, _ exchange: borrowing Exchange) {
        let log = exchange.channel?.log ?? channels.ownLog
        var facts: [(name: String, value: EventRecord.Value)] = [
            ("request_id", .text(exchange.record.context.requestID))
        ]
        if let name = opening.upgrade { facts.append(("protocol", .text(name))) }
        if let address = exchange.record.context.upstreamAddress {
            facts.append(("upstream", .text(address)))
        }
        log.write(
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

/// The head that turns an app's connection into a tunnel.
struct TunnelOpening {
    /// 101, or 200 for CONNECT.
    let status: HTTPStatus
    var headers: HTTPHeaders
    /// The protocol that 101 switches to.
    let upgrade: String?

    /// The answer to an upgrade, as the upstream gave it.
    init(switching response: Response) {
        status = response.status
        headers = response.headers
        upgrade = response.headers[.upgrade]
        headers.remove(HTTPFieldName.upgrade)
    }

    /// The answer to CONNECT (RFC 9110 §9.3.6).
    static var connected: TunnelOpening { TunnelOpening() }

    private init() {
        status = 200
        headers = HTTPHeaders()
        upgrade = nil
    }
}

extension DownstreamConnection {
    /// Writes the last head that the connection sees.
    ///
    /// - Throws: `NetworkError` on the app's side.
    func write(_ opening: TunnelOpening) async throws {
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        if let upgrade = opening.upgrade {
            var hop = HTTPHeaders()
            hop.append(.connection, validated: "Upgrade")
            hop.append(.upgrade, validated: upgrade)
            HeadEncoder.encodeInformational(
                status: opening.status,
                headers: opening.headers,
                hopFields: hop,
                into: output
            )
        } else {
            HeadEncoder.encodeResponse(
                status: opening.status,
                headers: opening.headers,
                framing: .none,
                into: output
            )
        }
        try await send(output, nil)
    }

    /// The connection as one end of a tunnel, with what the app sent ahead of the answer.
    func tunnelEnd(idleTimeout: Duration?) -> SocketStream {
        // From here on the app's end of the stream is only half of the story.
        socket.onPeerClosed = nil
        let early = buffer.moved()
        return SocketStream(
            socket,
            buffer: early,
            side: .downstream,
            idleTimeout: idleTimeout,
            // Its task closes it.
            onClose: { [socket] in socket.abort() }
        )
    }
}
