import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import RequestLog

/// Carries one request through the proxy: this is the product on one screen.
///
/// One per loop. Not `Sendable`.
final class ProxyHandler {
    private let loop: EventLoop
    private let requests: UpstreamRequest
    private var requestIDs: RequestIDs
    /// What can be explained to a person.
    let recent = RecentExchanges()
    /// Where a person reads along, if one does.
    var console: ConsoleLines?
    /// Called after each record.
    var onLogged: (() -> Void)?
    /// The channels as the configuration in force has them.
    var channels: ChannelTable

    init(loop: EventLoop, requests: UpstreamRequest, channels: ChannelTable) {
        self.loop = loop
        self.requests = requests
        self.channels = channels
        requestIDs = RequestIDs()
    }

    /// Answers one request.
    ///
    /// - Returns: whether the connection may be used for another.
    func handle(_ head: RequestHead, on app: DownstreamConnection) async -> Bool {
        var exchange = Exchange(head, on: app, id: requestIDs.next(), now: loop.now)
        let table = channels
        do throws(NetworkError) {
            let route = try table.router.route(head, dedicated: app.dedicatedChannel)
            let channel = table.channels[route.channel]
            exchange.channel = channel
            exchange.rule = route.rule
            app.idleTimeout = channel.idleTimeout
            try channel.access.check(
                head,
                isChannelHost: table.isChannelHost(head, app),
                userID: app.userID
            )
            let response = try await send(head, route, channel, on: app, &exchange)
            return await deliver(response, head, on: app, &exchange)
        } catch {
            return await answer(error, head, on: app, &exchange)
        }
    }

    /// Sends the request through the channel's interceptors.
    private func send(
        _ head: RequestHead,
        _ route: Router.Route,
        _ channel: Channel,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async throws(NetworkError) -> Response {
        var nominated: [HTTPFieldName] = []
        let request = try requests.make(
            head,
            for: channel.origin,
            target: route.target,
            body: app.requestBody(head.framing),
            requestID: &exchange.context.requestID,
            protecting: channel.credentialFields,
            nominated: &nominated
        )
        exchange.request = request
        if let total = channel.totalTimeout {
            exchange.context.deadline = .now + total
        }
        do {
            var response = try await channel.send(request, context: &exchange.context)
            response.headers.append(.via, validated: "1.1 \(requests.pseudonym)")
            return response
        } catch let error as NetworkError {
            throw error
        } catch is CancellationError {
            throw NetworkError(.cancelled, side: .downstream, detail: "the app went away")
        } catch {
            throw NetworkError(
                .proxyInternalError,
                side: .proxy,
                detail: "an interceptor failed: \(error)"
            )
        }
    }

    /// Writes the response to the app, and the record to the log.
    private func deliver(
        _ response: Response,
        _ head: RequestHead,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.status = response.status
        do throws(DeliveryError) {
            let delivery = try await app.write(response, to: head, mayContinue: head.keepAlive)
            exchange.bytesOut = delivery.bytesOut
            finish(&exchange, app)
            if !delivery.mayContinue { await app.closeAfterLingering() }
            return delivery.mayContinue
        } catch {
            // The head is out: the only honest end is one that no app takes for a complete answer.
            exchange.bytesOut = error.bytesOut
            exchange.fail(error.cause)
            finish(&exchange, app)
            app.reset()
            return false
        }
    }

    /// Answers by ourselves.
    private func answer(
        _ error: NetworkError,
        _ head: RequestHead?,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.fail(error)
        guard error.kind != .cancelled else {
            finish(&exchange, app)
            app.reset()
            return false
        }
        let response = ErrorResponder.response(
            to: error,
            channel: exchange.channel?.name,
            requestID: exchange.context.requestID
        )
        exchange.status = response.status
        // After a doubt about the message nothing behind it can be trusted.
        let mayContinue = head?.keepAlive == true && error.kind != .httpRequestError
        do throws(DeliveryError) {
            let delivery = try await app.write(
                response,
                to: head ?? .unreadable,
                mayContinue: mayContinue
            )
            exchange.bytesOut = delivery.bytesOut
            finish(&exchange, app)
            if !delivery.mayContinue { await app.closeAfterLingering() }
            return delivery.mayContinue
        } catch {
            exchange.bytesOut = error.bytesOut
            finish(&exchange, app)
            app.reset()
            return false
        }
    }

    /// Refuses what is no request, and closes the connection.
    func refuse(_ error: NetworkError, on app: DownstreamConnection) async {
        var exchange = Exchange(nil, on: app, id: requestIDs.next(), now: loop.now)
        _ = await answer(error, nil, on: app, &exchange)
    }

    private func finish(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        exchange.bytesIn = app.bytesIn
        exchange.channel?.counters.count(exchange)
        let log = exchange.channel?.log ?? channels.ownLog
        let record = exchange.record(endedAt: loop.now)
        log.write(record, now: .now, keepingIn: recent.lines)
        recent.note(exchange, level: record.level)
        console?.show(record, channel: exchange.channel?.name)
        onLogged?()
    }
}
