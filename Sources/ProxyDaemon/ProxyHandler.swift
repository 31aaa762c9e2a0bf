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
    let loop: EventLoop
    let requests: UpstreamRequest
    private let requestIDs: RequestIDs
    /// What no channel claimed.
    let unclaimed = ChannelTally()
    /// What can be explained to a person.
    let recent = RecentExchanges()
    /// Where a person reads along, if one does.
    var console: ConsoleLines?
    /// Called after each record.
    var onLogged: (() -> Void)?
    /// The channels as the configuration in force has them.
    var channels: ChannelTable
    /// Where apps find this proxy.
    var ownAddresses = OwnAddresses()

    init(loop: EventLoop, requests: UpstreamRequest, channels: ChannelTable) {
        self.loop = loop
        self.requests = requests
        self.channels = channels
        requestIDs = RequestIDs()
    }

    /// Answers one request.
    ///
    /// - Returns: whether the connection may be used for another.
    func handle(
        _ head: consuming RequestHead,
        on app: DownstreamConnection
    ) async -> Bool {
        var dedicated = app.dedicatedChannel
        if case .absolute = head.target,
            let own = ownAddresses.listener(
                namedBy: head.target,
                localAddress: app.socket.localAddress
            )
        {
            head.becomeDirect()
            if dedicated == nil { dedicated = own.channel }
        }
        var exchange = Exchange(
            on: app,
            id: requestIDs.next(),
            now: loop.now,
            method: head.method.rawValue,
            target: head.target.pathAndQuery ?? "",
            fields: head.headers.knownFields
        )
        exchange.noteRequest(head)
        let table = channels
        do throws(NetworkError) {
            let route = try table.router.route(head, dedicated: dedicated)
            let channel = table.channels[route.channel]
            exchange.enter(channel, with: head)
            exchange.rule = route.rule
            app.idleTimeout = channel.idleTimeout
            try channel.shared.access.check(
                head,
                isChannelHost: { table.isChannelHost($0) },
                userID: app.userID
            )
            // RFC 9110 §15.2: HTTP/1.0 knows no interim answers.
            if head.version == .http11 { exchange.context.onInformational = app.interim }
            var nominated: [HTTPFieldName] = []
            var response: Response
            if let own = try lastStop(head, channel) {
                response = own
            } else {
                var request = try requests.make(
                    &head,
                    for: channel.origin,
                    target: route.target,
                    body: app.requestBody(head.framing),
                    requestID: &exchange.context.requestID,
                    protecting: channel.credentialFields,
                    ruling: channel.shared.ruledFields,
                    nominated: &nominated
                )
                exchange.beginTrace(in: &request, as: channel.trace)
                exchange.noteDestination(of: request)
                if !nominated.isEmpty { tell(nominated, of: exchange, in: channel) }
                do {
                    if let total = channel.totalTimeout {
                        response = try await channel.send(
                            consume request,
                            within: total,
                            context: &exchange.context
                        )
                    } else {
                        response = try await channel.chain.send(
                            consume request,
                            context: &exchange.context
                        )
                    }
                } catch {
                    throw ProxyHandler.networkError(error)
                }
                response.headers.append(.via, validated: requests.via(exchange.context))
            }
            return await deliver(response, head, on: app, &exchange)
        } catch {
            guard exchange.channel == nil else {
                return await explain(error, head, on: app, &exchange)
            }
            return await serveUnclaimed(error, head, on: app, &exchange)
        }
    }

    /// The answer to a request that goes no further.
    private func lastStop(
        _ head: RequestHead,
        _ channel: Channel
    ) throws(NetworkError) -> Response? {
        // The length of TRACE first: it spares almost every request the comparison of texts.
        guard
            head.headers.contains(KnownField.maxForwards)
                || (head.method.rawValue.utf8.count == 5 && head.method == .trace)
        else { return nil }
        if let answer = try MaxForwards.answer(to: head) { return answer }
        try channel.checkTrace(head.method)
        return nil
    }

    /// Tells of fields that `Connection` named in vain: an app that tries to have a credential taken
    /// out is worth a look.
    private func tell(
        _ nominated: [HTTPFieldName],
        of exchange: Exchange,
        in channel: Channel
    ) {
        let names = nominated.map(\.description).joined(separator: ", ")
        channel.log.write(
            EventRecord(
                time: .now,
                level: .warning,
                event: .request,
                message: "Connection named fields that only the proxy may remove",
                facts: [
                    ("request_id", .text(exchange.context.requestID)), ("fields", .text(names)),
                ]
            ),
            now: .now
        )
    }

    /// What an attempt threw, as a fault of the exchange.
    static func networkError(_ error: any Error) -> NetworkError {
        switch error {
        case let error as NetworkError: error
        case is CancellationError:
            NetworkError(.cancelled, side: .downstream, detail: "the app went away")
        default:
            NetworkError(
                .proxyInternalError,
                side: .proxy,
                detail: "an interceptor failed: \(error)"
            )
        }
    }

    /// Writes the response to the app, and the record to the log.
    func deliver(
        _ response: Response,
        _ head: RequestHead,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        exchange.noteResponse(response)
        if case .tunnel(let upstream) = response.body {
            await tunnel(
                to: upstream,
                opening: TunnelOpening(switching: response),
                on: app,
                idleTimeout: app.idleTimeout,
                &exchange
            )
            return false
        }
        if app.isWritingInterim { await app.settleInterim() }
        exchange.status = response.status
        do throws(DeliveryError) {
            var opening = app.open(response, to: head, mayContinue: head.keepAlive)
            if try !app.write(&opening) {
                opening.delivery = try await app.finish(response, opening)
            }
            let delivery = opening.delivery
            exchange.bytesOut = delivery.bytesOut
            finish(&exchange, app)
            if !delivery.mayContinue { await app.closeAfterLingering() }
            return delivery.mayContinue
        } catch {
            // The head is out, or some of it: the only honest end is one that no app takes for a
            // complete answer.
            if !error.isHeadOut { exchange.status = nil }
            exchange.bytesOut = error.bytesOut
            exchange.fail(error.cause)
            finish(&exchange, app)
            app.reset()
            return false
        }
    }

    /// Writes to the app, in the place of a response, why there is none, and the record to the log.
    func explain(
        _ error: NetworkError,
        _ head: RequestHead?,
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) async -> Bool {
        if let head { exchange.noteWish(head) }
        exchange.fail(error)
        guard error.kind != .cancelled else {
            finish(&exchange, app)
            app.reset()
            return false
        }
        if app.isWritingInterim { await app.settleInterim() }
        let response = ErrorResponder.response(
            to: error,
            channel: exchange.channel?.name,
            requestID: exchange.context.requestID
        )
        exchange.status = response.status
        // After a doubt about the message nothing behind it can be trusted.
        // Nor can what an app sends behind a CONNECT: it is meant for the tunnel.
        let mayContinue =
            head?.keepAlive == true && error.kind != .httpRequestError && head?.method != .connect
        do throws(DeliveryError) {
            let delivery = try await app.write(
                response,
                to: head ?? app.unreadHead,
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

    /// Refuses what is no request, and closes the connection.
    func refuse(_ error: NetworkError, on app: DownstreamConnection) async {
        var exchange = Exchange(on: app, id: requestIDs.next(), now: loop.now)
        _ = await explain(error, nil, on: app, &exchange)
    }

    /// Writes the record.
    func finish(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        exchange.end(at: loop.now)
        record(exchange)
    }

    /// Counts, logs and remembers an exchange that has ended: borrowed, since a copy of all that is
    /// known of one takes time.
    private func record(_ exchange: borrowing Exchange) {
        (exchange.channel?.tally ?? unclaimed).counters.count(exchange)
        let log = exchange.channel?.log ?? channels.ownLog
        log.write(exchange.record, now: .now, keepingIn: recent.lines)
        recent.note(exchange)
        console?.show(exchange.record, channel: exchange.channel?.name)
        onLogged?()
    }
}
