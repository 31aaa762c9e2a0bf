import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

/// The way back: the response, or the error in its place, and then the record.
extension ProxyHandler {
    /// Writes the response to the app, and the record to the log.
    ///
    /// - Returns: whether the connection may be used for another request.
    @inline(__always)
    func deliver(
        _ response: Response,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        let state = start(response, on: app, &exchange)
        if state == .done, app.state.persists { return true }
        return await finish(response, state, on: app, &exchange)
    }

    /// Writes what goes out at once; for most responses that is all.
    ///
    /// - Returns: `idle` where the response opens a tunnel, or an interim response is being written.
    @inline(never)
    private func start(
        _ response: borrowing Response,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) -> ResponseWriter.State {
        exchange.noteResponse(response)
        if app.state.phase == .interim { return .idle }
        if case .tunnel = response.body { return .idle }
        return write(response, on: app, &exchange)
    }

    private func write(
        _ response: borrowing Response,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) -> ResponseWriter.State {
        exchange.status = response.status
        var writer = ResponseWriter(
            response,
            to: exchange.head,
            exchange.head.persistence,
            on: app
        )
        do throws(NetworkError) {
            try writer.start()
        } catch {
            giveUp(error, writer, on: app, &exchange)
            return writer.state
        }
        let state = writer.state
        if state == .done {
            exchange.bytesOut = writer.bytesOut
            finish(&exchange, app)
        } else {
            app.pendingResponse = PendingResponse(writer)
        }
        return state
    }

    /// Writes what has to wait.
    // Never inlined: what this waits with would enlarge the frame of responses that go out at once.
    @inline(never)
    private func finish(
        _ response: Response,
        _ started: ResponseWriter.State,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        var state = started
        if state == .idle {
            await app.interimWritten()
            if case .tunnel(let upstream) = response.body {
                await tunnel(
                    to: upstream,
                    opening: TunnelOpening(switching: response),
                    on: app,
                    idle: app.request.idleSetting,
                    &exchange
                )
                return false
            }
            state = write(response, on: app, &exchange)
        }
        if var writer = app.pendingResponse.take()?.take() {
            do {
                try await writer.finish()
                exchange.bytesOut = writer.bytesOut
                finish(&exchange, app)
            } catch {
                giveUp(NetworkError(ofExchange: error), writer, on: app, &exchange)
            }
            state = writer.state
        }
        guard state == .done else { return false }
        if !app.state.persists { await app.closeAfterLingering() }
        return app.state.persists
    }

    /// Ends an exchange whose response broke off: the head is out, or some of it, and the only honest
    /// end is one that no app takes for a complete response.
    private func giveUp(
        _ error: NetworkError,
        _ writer: borrowing ResponseWriter,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) {
        if !writer.isHeadOut { exchange.status = nil }
        exchange.bytesOut = writer.bytesOut
        exchange.fail(error, app.state.shutdown)
        finish(&exchange, app)
        app.reset()
    }

    /// Writes to the app why there is no response, and the record to the log.
    ///
    /// - Returns: whether the connection may be used for another request.
    func explain(
        _ error: NetworkError,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.noteIntendedHost()
        let error = error.kind == .cancelled && app.state.shutdown == .cut ? .drainEnded : error
        exchange.fail(error, app.state.shutdown)
        guard error.kind != .cancelled else {
            finish(&exchange, app)
            app.reset()
            return false
        }
        await app.interimWritten()
        var response = ErrorResponder.response(
            to: error,
            channel: exchange.channel?.name,
            signIn: exchange.channel?.shared.configuration.signIn,
            requestID: exchange.record.context.requestID
        )
        let page =
            exchange.channel == nil
            ? channels.listedOrigin(of: exchange.head.headers) : exchange.page
        if let page { CrossOrigin.allow(page, in: &response.headers) }
        exchange.status = response.status
        // After a malformed message nothing that follows can be trusted. Neither can what follows a
        // CONNECT: it is meant for the tunnel.
        let persistence =
            error.kind == .httpRequestError || exchange.head.method == .connect
            ? .close : exchange.head.persistence
        var writer = ResponseWriter(response, to: exchange.head, persistence, on: app)
        do {
            try await writer.write()
            exchange.bytesOut = writer.bytesOut
            finish(&exchange, app)
            if !writer.persists { await app.closeAfterLingering() }
            return writer.persists
        } catch {
            let cause = NetworkError(ofExchange: error)
            if !writer.isHeadOut {
                exchange.status = nil
                if cause.kind == .cancelled { exchange.fail(cause, app.state.shutdown) }
            }
            exchange.bytesOut = writer.bytesOut
            finish(&exchange, app)
            app.reset()
            return false
        }
    }
}
