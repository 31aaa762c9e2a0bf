import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Delivery: the response, or an error instead, and then the record.
extension ProxyHandler {
    /// Writes the response to the client, and the record to the log.
    ///
    /// - Returns: whether the connection may be used for another request.
    @inline(__always)
    func deliver<App: DownstreamExchange>(
        _ response: Response,
        on app: App,
        _ exchange: inout Exchange
    ) async -> Bool {
        let state = start(response, on: app, &exchange)
        if state == .done, app.persists { return true }
        return await deliverRest(of: response, state, on: app, &exchange)
    }

    /// Writes the part of a response that can be written at once, which is all of most responses.
    ///
    /// - Returns: `idle` if the response opens a tunnel, or an interim response is being written.
    @inline(never)
    private func start<App: DownstreamExchange>(
        _ response: borrowing Response,
        on app: App,
        _ exchange: inout Exchange
    ) -> ResponseWriter.State {
        exchange.noteResponse(response)
        if app.isWritingInterim { return .idle }
        if case .tunnel = response.body { return .idle }
        return write(response, on: app, &exchange)
    }

    private func write<App: DownstreamExchange>(
        _ response: borrowing Response,
        on app: App,
        _ exchange: inout Exchange
    ) -> ResponseWriter.State {
        exchange.status = response.status
        let written = app.beginResponse(response, to: exchange.head, exchange.head.persistence)
        switch written.state {
        case .done:
            exchange.bytesOut = written.bytesOut
            recorder.record(&exchange, app)
        case .broken: giveUp(written, on: app, &exchange)
        case .idle, .head, .body: break
        }
        return written.state
    }

    /// Writes the parts of a response that must wait.
    ///
    /// Never inlined: its locals would enlarge the frame of responses that are written at once.
    @inline(never)
    private func deliverRest<App: DownstreamExchange>(
        of response: Response,
        _ started: ResponseWriter.State,
        on app: App,
        _ exchange: inout Exchange
    ) async -> Bool {
        var state = started
        if state == .idle {
            await app.interimWritten()
            if case .tunnel(let upstream) = response.body {
                // Only a connection can offer an upgrade.
                guard let connection = app.connection else {
                    upstream.close()
                    return false
                }
                await tunnel(
                    to: upstream,
                    opening: TunnelOpening(switching: response),
                    on: connection,
                    idle: app.request.idleSetting,
                    &exchange
                )
                return false
            }
            state = write(response, on: app, &exchange)
        }
        if state != .done, state != .broken {
            // Trailers may repeat a secret, too.
            if app.request.sent == nil { app.request.sent = exchange.record.context.sentSecrets }
            let written = await app.finishResponse()
            state = written.state
            if let trailers = written.trailers { exchange.noteRPC(trailers) }
            if state == .done {
                exchange.noteCut(of: response, app.shutdown)
                exchange.bytesOut = written.bytesOut
                recorder.record(&exchange, app)
            } else {
                giveUp(written, on: app, &exchange)
            }
        }
        guard state == .done else { return false }
        if !app.persists { await app.closeAfterLingering() }
        return app.persists
    }

    /// Ends an exchange whose response failed after a part of the head may have been sent.
    ///
    /// The end must not look like that of a complete response to the client.
    private func giveUp(
        _ written: WrittenResponse,
        on app: some DownstreamExchange,
        _ exchange: inout Exchange
    ) {
        if !written.isHeadOut { exchange.status = nil }
        exchange.bytesOut = written.bytesOut
        exchange.fail(NetworkError(ofExchange: written.fault ?? CancellationError()), app.shutdown)
        recorder.record(&exchange, app)
        app.reset()
    }

    /// Writes an error response to the client, and the record to the log.
    ///
    /// - Returns: whether the connection may be used for another request.
    func explain<App: DownstreamExchange>(
        _ error: NetworkError,
        on app: App,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.noteIntendedHost()
        let error = IgnoredProxy.explain(
            error.kind == .cancelled && app.shutdown == .cut ? .drainEnded : error,
            exchange.channel?.rules.ignoredProxy
        )
        exchange.fail(error, app.shutdown)
        guard error.kind != .cancelled else {
            recorder.record(&exchange, app)
            app.reset()
            return false
        }
        await app.interimWritten()
        var response = ErrorResponder.response(
            to: error,
            channel: exchange.channel?.name,
            signIn: exchange.signInAdvice,
            requestID: exchange.record.context.requestID
        )
        if let call = exchange.call {
            exchange.record.rpcStatus = RPCResponder.status(of: error, response.status)
            response = RPCResponder.response(to: error, as: response, in: call)
        }
        let page =
            exchange.channel == nil
            ? channels.listedOrigin(of: exchange.head.headers) : exchange.page
        if let page { CrossOrigin.allow(page, in: &response.headers) }
        exchange.status = response.status
        // The bytes after a malformed message cannot be trusted, nor those after a CONNECT, which are
        // meant for the tunnel.
        let persistence =
            error.kind == .httpRequestError || exchange.head.method == .connect
            ? .close : exchange.head.persistence
        var written = app.beginResponse(response, to: exchange.head, persistence)
        if written.state != .done, written.state != .broken { written = await app.finishResponse() }
        guard written.state == .done else {
            let cause = NetworkError(ofExchange: written.fault ?? CancellationError())
            if !written.isHeadOut {
                exchange.status = nil
                if cause.kind == .cancelled { exchange.fail(cause, app.shutdown) }
            }
            exchange.bytesOut = written.bytesOut
            recorder.record(&exchange, app)
            app.reset()
            return false
        }
        exchange.bytesOut = written.bytesOut
        recorder.record(&exchange, app)
        if !app.persists { await app.closeAfterLingering() }
        return app.persists
    }
}
