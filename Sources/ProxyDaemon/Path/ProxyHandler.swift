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
    /// What need not wait is done in functions that do not: what they hold on the way takes no room
    /// among what is kept for each request that waits.
    ///
    /// - Returns: whether the connection may be used for another.
    func handle(on app: DownstreamConnection) async -> Bool {
        var exchange = begin(on: app)
        do throws(NetworkError) {
            var response: Response
            switch try prepare(on: app, &exchange) {
            case .answer(let own): response = own
            case .send(let request, let channel):
                do {
                    if let total = channel.totalTimeout {
                        response = try await channel.send(
                            consume request,
                            within: total,
                            context: &exchange.record.context
                        )
                    } else {
                        response = try await channel.chain.send(
                            consume request,
                            context: &exchange.record.context
                        )
                    }
                } catch {
                    throw ProxyHandler.networkError(error)
                }
                response.headers.append(.via, validated: requests.via(exchange.record.context))
            }
            return await deliver(response, on: app, &exchange)
        } catch {
            guard exchange.channel == nil else { return await explain(error, on: app, &exchange) }
            return await serveUnclaimed(error, on: app, &exchange)
        }
    }

    /// What becomes of a request.
    private enum Step: ~Copyable {
        /// It goes no further.
        case answer(Response)
        /// It goes through a channel.
        case send(Request, Channel)
    }

    /// Begins the exchange of the head that came; a request that names this proxy becomes one to it.
    @inline(never)
    private func begin(on app: DownstreamConnection) -> Exchange {
        var head = app.intake?.head.take() ?? app.unreadHead
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
        var exchange = Exchange(of: consume head, on: app, id: requestIDs.next())
        exchange.dedicated = dedicated
        exchange.noteRequest()
        return exchange
    }

    /// Finds the channel of a request, and makes the request that goes upstream.
    @inline(never)
    private func prepare(
        on app: DownstreamConnection,
        _ exchange: inout Exchange
    ) throws(NetworkError) -> Step {
        let table = channels
        let route = try table.router.route(exchange.head, dedicated: exchange.dedicated)
        let channel = table.channels[route.channel]
        exchange.enter(channel)
        exchange.rule = route.rule
        app.current.idleTimeout = channel.idleTimeout
        let keyFields = try channel.shared.access.check(
            exchange.head,
            isChannelHost: { table.isChannelHost($0) },
            userID: app.userID
        )
        for field in keyFields { exchange.head.headers.remove(field) }
        try channel.shared.scope.check(exchange.head, target: route.target)
        // RFC 9110 §15.2: HTTP/1.0 knows no interim answers.
        if exchange.head.version == .http11 {
            exchange.record.context.onInformational = app.interim
        }
        if let own = try lastStop(exchange.head, channel) { return .answer(own) }
        var nominated: [HTTPFieldName] = []
        var request = try requests.make(
            &exchange.head,
            for: channel.origin,
            target: route.target,
            body: app.requestBody(exchange.head.framing),
            requestID: exchange.record.context.requestID,
            protecting: channel.credentialFields,
            ruling: channel.shared.ruledFields,
            nominated: &nominated
        )
        exchange.beginTrace(in: &request, as: channel.trace)
        exchange.noteDestination(of: request)
        if !nominated.isEmpty { tell(nominated, of: exchange, in: channel) }
        return .send(request, channel)
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
        if let answer = try MaxForwards.answer(to: head, hiding: channel.credentialFields) {
            return answer
        }
        try channel.checkTrace(head.method)
        return nil
    }

    /// Tells of fields that `Connection` named in vain: an app that tries to have a credential taken
    /// out is worth a look.
    private func tell(
        _ nominated: [HTTPFieldName],
        of exchange: borrowing Exchange,
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
                    ("request_id", .text(exchange.record.context.requestID)),
                    ("fields", .text(names)),
                ]
            ),
            now: .now
        )
    }

    /// What an attempt threw, as a fault of the exchange.
    static func networkError(_ error: any Error) -> NetworkError {
        error is CancellationError
            ? NetworkError(.cancelled, side: .downstream, detail: "the app went away")
            : NetworkError.of(error)
    }

    /// Refuses what is no request, and closes the connection.
    func refuse(_ error: NetworkError, on app: DownstreamConnection) async {
        app.current.idleTimeout = DownstreamConnection.Current.idleTimeout
        let line = app.requestLine
        let head = line ?? app.unreadHead
        let id = requestIDs.next()
        var exchange = Exchange(of: head, on: app, id: id, isKnown: line != nil)
        if line != nil { exchange.noteRequest() }
        _ = await explain(error, on: app, &exchange)
    }

    /// Writes the record.
    func finish(_ exchange: inout Exchange, _ app: DownstreamConnection) {
        exchange.end(at: loop.now)
        record(&exchange)
    }

    /// Counts, logs and remembers an exchange that has ended.
    ///
    /// `inout`, though nothing changes: a borrowed exchange is copied to a place of its own.
    private func record(_ exchange: inout Exchange) {
        (exchange.channel?.tally ?? unclaimed).counters.count(&exchange.record)
        let log = exchange.channel?.log ?? channels.ownLog
        log.write(exchange.record, now: .now, keepingIn: recent.lines)
        recent.note(&exchange)
        console?.show(exchange.record, channel: exchange.channel?.name)
        onLogged?()
    }
}
