import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

/// The way back: the response, or why there is none, and the record.
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
        let progress = start(response, on: app, &exchange)
        if progress == .ended { return true }
        return await conclude(response, progress, on: app, &exchange)
    }

    /// How far a response got without a wait.
    private enum Progress {
        /// Nothing is written: it opens a tunnel, or an interim answer is on its way.
        case waiting
        /// Some of it is.
        case begun
        /// All of it is, and another request may follow.
        case ended
        /// All of it is, and the connection has to be closed.
        case closing
        /// It broke off.
        case lost
    }

    /// Writes what goes out at once; for most responses that is all.
    @inline(never)
    private func start(
        _ response: borrowing Response,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) -> Progress {
        exchange.noteResponse(response)
        if app.isWritingInterim { return .waiting }
        if case .tunnel = response.body { return .waiting }
        return write(response, on: app, &exchange)
    }

    private func write(
        _ response: borrowing Response,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) -> Progress {
        exchange.status = response.status
        do throws(DeliveryError) {
            var opening = app.open(
                response,
                to: exchange.head,
                mayContinue: exchange.head.keepAlive
            )
            guard try app.write(&opening) else {
                app.begun = DownstreamConnection.Begun(opening)
                return .begun
            }
            exchange.bytesOut = opening.delivery.bytesOut
            finish(&exchange, app)
            return opening.delivery.mayContinue ? .ended : .closing
        } catch {
            giveUp(error, on: app, &exchange)
            return .lost
        }
    }

    /// Does with a response what has to wait.
    // Never inlined: those that went out at once would make room for what this waits with.
    @inline(never)
    private func conclude(
        _ response: Response,
        _ progress: Progress,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        var progress = progress
        if progress == .waiting {
            await app.settleInterim()
            if case .tunnel(let upstream) = response.body {
                await tunnel(
                    to: upstream,
                    opening: TunnelOpening(switching: response),
                    on: app,
                    idleTimeout: app.current.idleTimeout,
                    &exchange
                )
                return false
            }
            progress = write(response, on: app, &exchange)
        }
        if progress == .begun, let opening = app.begun.take()?.opening {
            do throws(DeliveryError) {
                let delivery = try await app.finish(response, opening)
                exchange.bytesOut = delivery.bytesOut
                finish(&exchange, app)
                progress = delivery.mayContinue ? .ended : .closing
            } catch {
                giveUp(error, on: app, &exchange)
                progress = .lost
            }
        }
        if progress == .closing { await app.closeAfterLingering() }
        return progress == .ended
    }

    /// Ends an exchange whose response broke off: the head is out, or some of it, and the only honest
    /// end is one that no app takes for a complete answer.
    private func giveUp(
        _ error: DeliveryError,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) {
        if !error.isHeadOut { exchange.status = nil }
        exchange.bytesOut = error.bytesOut
        exchange.fail(error.cause)
        finish(&exchange, app)
        app.reset()
    }

    /// The error of an exchange that had the time of the drain, and did not get to its answer.
    static var cutShort: NetworkError {
        NetworkError(
            .httpResponseTimeout,
            side: .proxy,
            detail: "netproxy stops, or listens there no more, and drain was over before the answer"
        )
    }

    /// Writes to the app, in the place of a response, why there is none, and the record to the log.
    func explain(
        _ error: NetworkError,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.noteWish()
        let error = app.ending == .cut && error.kind == .cancelled ? ProxyHandler.cutShort : error
        exchange.fail(error)
        guard error.kind != .cancelled else {
            finish(&exchange, app)
            app.reset()
            return false
        }
        await app.settleInterim()
        let response = ErrorResponder.response(
            to: error,
            channel: exchange.channel?.name,
            signIn: exchange.channel?.shared.configuration.signIn,
            requestID: exchange.record.context.requestID
        )
        exchange.status = response.status
        // After a doubt about the message nothing behind it can be trusted.
        // Nor can what an app sends behind a CONNECT: it is meant for the tunnel.
        let mayContinue =
            exchange.head.keepAlive && error.kind != .httpRequestError
            && exchange.head.method != .connect
        do throws(DeliveryError) {
            let delivery = try await app.write(
                response,
                to: exchange.head,
                mayContinue: mayContinue
            )
            exchange.bytesOut = delivery.bytesOut
            finish(&exchange, app)
            if !delivery.mayContinue { await app.closeAfterLingering() }
            return delivery.mayContinue
        } catch {
            if !error.isHeadOut {
                exchange.status = nil
                if ProxyHandler.networkError(error.cause).kind == .cancelled {
                    exchange.fail(error.cause)
                }
            }
            exchange.bytesOut = error.bytesOut
            finish(&exchange, app)
            app.reset()
            return false
        }
    }
}
