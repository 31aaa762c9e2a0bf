import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Carries one request through the proxy; this is the product on one screen.
///
/// One per loop. Not `Sendable`.
package final class ProxyHandler {
    let loop: EventLoop
    private let requests: UpstreamRequest
    private let requestIDs: RequestIDs
    /// Counts, logs and remembers the exchanges.
    package let recorder: ExchangeRecorder
    /// The channels of the current configuration.
    private(set) var channels: ChannelTable {
        didSet {
            recorder.ownLog = channels.ownLog
            prepareChannels()
        }
    }
    /// The TCP addresses of this proxy.
    package var listenAddresses = ListenAddresses() { didSet { prepareChannels() } }
    /// The admission checks of each channel.
    private var admissions: [Admission] = []

    package init(loop: EventLoop, requests: UpstreamRequest, channels: ChannelTable) {
        self.loop = loop
        self.requests = requests
        self.channels = channels
        requestIDs = RequestIDs()
        recorder = ExchangeRecorder(on: loop, ownLog: channels.ownLog)
        prepareChannels()
    }

    /// The channels of the current configuration.
    package var table: ChannelTable {
        get { channels }
        set { channels = newValue }
    }

    /// Serves the requests of a connection, one after another.
    ///
    /// Returns when the connection is parked or done, or when the client begins with HTTP/2.
    package func serve(_ connection: DownstreamConnection) async {
        do {
            while try await connection.nextHead() {
                guard await handle(on: connection) else { break }
            }
        } catch let error as HTTP1Error {
            await refuse(NetworkError(error, connection.bounds.limits), on: connection)
        } catch {
            await refuse(connection.overdueHead, on: connection)
        }
    }

    /// Serves the request of a stream.
    package func serve(_ stream: DownstreamStream) async {
        if let refusal = stream.refusal {
            await refuse(refusal, on: stream)
        } else {
            _ = await handle(on: stream)
        }
    }

    /// Handles one request.
    ///
    /// Steps without waits are functions that are not `async`, so that their locals take no room in the
    /// frame of each waiting request.
    ///
    /// - Returns: whether the connection may be used for another request.
    private func handle<App: DownstreamExchange>(on app: App) async -> Bool {
        var exchange = begin(on: app)
        exchange.noteRequest()
        exchange.record.context.sender = app.sender
        do throws(NetworkError) {
            if channels.hasOutages {
                // By then, a serving channel may have replaced it; routing finds that channel.
                await channels.outage(for: exchange.head, dedicated: exchange.dedicated)?
                    .waitForFirstAttempt()
            }
            var response: Response
            switch try prepare(on: app, &exchange) {
            case .answer(let own): response = own
            case .tunnel(let authority):
                guard let connection = app.connection else { throw .noTunnel }
                try await connect(to: authority, on: connection, &exchange)
                return false
            case .send(var request):
                // Keep a single reference, or edits would copy the fields.
                if request.body.isStream { request = try await gather(request, on: app) }
                do {
                    if let channel = exchange.channel {
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
                    } else {
                        response = try await channels.forward.send(
                            consume request,
                            context: &exchange.record.context
                        )
                    }
                } catch {
                    throw NetworkError(ofExchange: error)
                }
                if let channel = exchange.channel {
                    // First, because the references are read by clients.
                    if channel.rules.scrubbed != nil {
                        app.request.sent = try exchange.scrub(&response)
                    }
                    if channel.rules.edits(response.headers) {
                        exchange.editReferences(of: &response)
                    }
                }
                if app.request.announcesProxy {
                    response.headers.append(.via, validated: requests.via(exchange.record.context))
                }
            }
            if let page = exchange.page { CrossOrigin.allow(page, in: &response.headers) }
            if exchange.call != nil { exchange.endWithStatus(&response, on: app) }
            return await deliver(response, on: app, &exchange)
        } catch {
            return await explain(error, on: app, &exchange)
        }
    }

    /// Returns the request with its whole content, if that arrives at once.
    ///
    /// Never inlined: few requests wait for content.
    @inline(never)
    private func gather(
        _ request: Request,
        on app: some DownstreamExchange
    ) async throws(NetworkError) -> Request {
        var request = request
        request.body = try await app.gather(request.body)
        return request
    }

    /// The next step of a request.
    private enum Decision: ~Copyable {
        /// Write netproxy's own response.
        case answer(Response)
        /// Send the request upstream: through its channel, or unchanged if no channel claims it.
        case send(Request)
        /// Turn the connection into a tunnel.
        case tunnel(Authority)
    }

    /// Begins the exchange of the next head.
    ///
    /// A request that names this proxy in absolute-form is changed to origin-form.
    @inline(never)
    private func begin(on app: some DownstreamExchange) -> Exchange {
        var head = app.takeHead()
        var dedicated = app.listener.channel
        let role = PerceivedRole(head.target)
        if case .absolute = head.target,
            let own = listenAddresses.listener(
                namedBy: head.target,
                localAddress: app.localAddress
            )
        {
            head.becomeDirect()
            if dedicated == nil { dedicated = own.channel }
        }
        // Created in place, because an exchange is too large to be moved.
        return Exchange(
            of: consume head,
            from: app.peer,
            on: loop,
            id: requestIDs.next(),
            as: role,
            dedicated: dedicated
        )
    }

    /// Decides the next step of a request, and creates the upstream request.
    @inline(never)
    private func prepare<App: DownstreamExchange>(
        on app: App,
        _ exchange: inout Exchange
    ) throws(NetworkError) -> Decision {
        let plan: ForwardPlan
        do throws(NetworkError) {
            switch try planChannel(on: app, &exchange) {
            case .answer(let response): return .answer(response)
            case .tunnel(let authority): return .tunnel(authority)
            case .forward(let own): plan = own
            }
        } catch {
            guard exchange.channel == nil else { throw error }
            exchange.record.target = channels.router.hidingCredentials(in: exchange.record.target)
            let keys = channels.keys.shown(in: exchange.head)
            exchange.record.target = keys.removed(from: exchange.record.target)
            if let key = keys.lent { exchange.identify(app.peer.process, key: key.id) }
            if case .absolute(let scheme, let authority, let target) = exchange.head.target,
                !keys.parameters.isEmpty
            {
                let rest = keys.removed(from: target)
                exchange.head.target = .absolute(scheme, authority, rest)
            }
            let unclaimed = UnclaimedRequests(channels: channels)
            switch try unclaimed.plan(exchange.head, error, on: app) {
            case .answer(let response): return .answer(response)
            case .tunnel(let authority): return .tunnel(authority)
            case .forward(let other):
                app.request.idleTimeout = ForwardProxy.idleTimeout
                keys.remove(from: &exchange.head.headers)
                plan = other
            }
        }
        // RFC 9110 §15.2: HTTP/1.0 has no interim responses.
        if exchange.head.version == .http11 {
            exchange.record.context.onInformational = app.interim
        }
        if let own = try lastStop(exchange.head) { return .answer(own) }
        var (request, refusedNominations) = try requests.make(
            &exchange.head,
            plan,
            of: exchange.channel,
            body: app.requestBody(exchange.head.framing),
            requestID: exchange.record.context.requestID,
            over: app.version
        )
        if let channel = exchange.channel {
            // The API need not know the page: netproxy decides for it, as for preflights.
            if exchange.page != nil { request.headers.remove(KnownField.origin) }
            exchange.beginTrace(in: &request, as: channel.trace)
            exchange.prepareScrub(of: &request)
        }
        exchange.noteDestination(of: request, showing: plan.shownTarget)
        if let channel = exchange.channel, channel.rules.editsInterim {
            exchange.editInterim()
        }
        if !refusedNominations.isEmpty {
            recorder.warn(of: refusedNominations, in: exchange)
        }
        return .send(consume request)
    }

    /// Prepares the parts that depend on the channels and on our own addresses.
    private func prepareChannels() {
        admissions = channels.channels.indices.map { index in
            Admission(to: index, of: channels, at: listenAddresses)
        }
        // A loop is possible only if a channel leads to one of our own addresses.
        for channel in channels.channels { channel.decideOnVia(listenAddresses) }
    }

    /// Finds the channel of a request, and runs its checks.
    private func planChannel<App: DownstreamExchange>(
        on app: App,
        _ exchange: inout Exchange
    ) throws(NetworkError) -> UnclaimedRequests.Plan {
        let route = try channels.router.route(exchange.head, dedicated: exchange.dedicated)
        let channel = channels.channels[route.channel]
        exchange.enter(channel, by: route.rule)
        exchange.hide(channels.keys)
        app.request.enter(
            idleTimeout: channel.idleTimeout,
            announcesProxy: channel.announcesProxy
        )
        if let own = route.ownCredential { exchange.hide(own) }
        let admitted: Admission.Admitted
        switch try admissions[route.channel].admit(&exchange, from: app, along: route, at: loop.now)
        {
        case .answered(let response): return .answer(response)
        case .admitted(let request): admitted = request
        }
        return .forward(
            ForwardPlan(
                origin: channel.origin,
                target: admitted.target,
                shownTarget: admitted.shownTarget
            )
        )
    }

    /// Returns netproxy's own response if it is the last recipient of the request.
    private func lastStop(_ head: RequestHead) throws(NetworkError) -> Response? {
        guard head.headers.contains(KnownField.maxForwards) else { return nil }
        return try MaxForwards.answer(to: head)
    }

    /// Returns the writer of interim responses for a connection (RFC 9110 §15.2); a task creates it once.
    package func interimWriter(for connection: DownstreamConnection) -> InterimWriter {
        makeInterimWriter(for: connection)
    }

    /// Returns the writer of interim responses for a stream.
    package func interimWriter(for stream: DownstreamStream) -> InterimWriter {
        makeInterimWriter(for: stream)
    }

    private func makeInterimWriter<App: DownstreamExchange>(for app: App) -> InterimWriter {
        let bound = LoopBound(app, on: loop)
        let pseudonym = requests.pseudonym
        return { status, headers in
            var headers = headers
            // A cookie belongs to the final response, where it is confined to the channel.
            if bound.value.request.hasChannelLimits { headers.remove(KnownField.setCookie) }
            if bound.value.request.announcesProxy {
                headers.append(.via, validated: "1.1 \(pseudonym)")
            }
            try await bound.value.writeInterim(status, headers)
        }
    }

    /// Refuses a malformed request, and closes the connection.
    private func refuse<App: DownstreamExchange>(_ error: NetworkError, on app: App) async {
        app.request.idleTimeout = CurrentRequest.idleTimeout
        app.request.hasChannelLimits = false
        let line = app.requestLine
        var exchange = Exchange(
            of: line ?? app.unreadHead,
            from: app.peer,
            on: loop,
            id: requestIDs.next()
        )
        if line != nil { exchange.noteRequest() } else { exchange.noteUnreadable() }
        _ = await explain(error, on: app, &exchange)
    }
}

extension NetworkError {
    /// The error for a CONNECT on a stream: a tunnel needs a whole connection.
    fileprivate static var noTunnel: NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            detail: "CONNECT is served over HTTP/1.1 only",
            status: 501
        )
    }
}
