import NetproxyBytes
import NetproxyChannels
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore
import OAuth

/// Handles requests on the admin socket (contract section 6); never reachable through a data listener.
struct AdminHandler: Sendable {
    let reach: AdminReach
    let daemon: Daemon

    /// Returns a refusal based on the request's head, before its content is read.
    func refusal(of call: LocalServer.Call) -> Response? {
        switch route(of: call) {
        case .success: nil
        case .failure(let refusal): refusal.response
        }
    }

    /// Responds to a request with an acceptable head.
    ///
    /// The work runs off the connection's loop: a reload or a list of all requests takes time.
    func answer(_ call: LocalServer.Call) async -> Response {
        switch route(of: call) {
        case .success(let route):
            await OffLoop.compute { await answer(call, at: route) }
        case .failure(let refusal): refusal.response
        }
    }

    private struct Refused: Error { let response: Response }

    private func route(of call: LocalServer.Call) -> Result<AdminRoute, Refused> {
        if reach == .tcp {
            do throws(AdminRefusal) {
                try AdminGuard.check(call)
            } catch {
                return .failure(Refused(response: problem(error.status, error.detail)))
            }
        }
        guard let route = AdminRoute(call.path) else {
            return .failure(Refused(response: problem(404, "there is no \(call.path) here")))
        }
        // The connection omits the body of the response to HEAD.
        guard (call.method == .head ? .get : call.method) == route.method else {
            var refusal = problem(405, "\(call.path) is for \(route.allowed), not \(call.method)")
            refusal.headers.append("Allow", validated: route.allowed)
            return .failure(Refused(response: refusal))
        }
        guard !route.isForOwner || isOwner(call.peer) else {
            let names = Set(["root", UserAccount.current.name]).sorted().joined(separator: " and ")
            let detail = "only \(names) may do this; with sudo, it is done as root"
            return .failure(Refused(response: problem(403, detail)))
        }
        return .success(route)
    }

    /// Whether a peer may make changes; over TCP, every peer may, because users cannot be distinguished.
    private func isOwner(_ peer: SocketPeer) -> Bool {
        reach == .tcp || peer.userID == 0 || peer.userID == FileTrust.user
    }

    private func answer(_ call: LocalServer.Call, at route: AdminRoute) async -> Response {
        switch route {
        case .page: AdminPage.response(await daemon.status())
        case .health: .text(200, "ok\n")
        case .readiness: await readiness()
        case .metrics: await metrics()
        case .status: .json(200, await daemon.status().json)
        case .tail: await tail(AdminQuery(call.query))
        case .log: .json(200, LogSource(await daemon.inForce.current).json)
        case .archive: await archive(AdminQuery(call.query))
        case .why(let name): await why(name)
        case .newest: await newest(of: nil)
        case .keys: await lend(AdminQuery(call.query), to: call.peer)
        case .reload: await reload(AdminQuery(call.query), for: call.peer)
        case .tokens(let channel):
            await change(
                .logout,
                channel,
                call.peer,
                to: "the tokens of \(channel) are forgotten",
                orFailWith: 500
            ) { manager in
                try await manager.forget()
                await daemon.renewServer(of: channel)
            }
        case .refresh(let channel):
            await change(
                .refresh,
                channel,
                call.peer,
                to: "the token of \(channel) was renewed"
            ) { try await $0.forceRefresh() }
        case .adopt(let channel): await adopt(channel, for: call.peer)
        case .revealed(let channel):
            await change(.reveal, channel, call.peer, to: "noted") { _ in }
        }
    }

    /// Puts the tokens of a command-line sign-in in force, which may come from another server.
    private func adopt(_ channel: String, for peer: SocketPeer) async -> Response {
        await daemon.renewServer(of: channel)
        return await change(
            .login,
            channel,
            peer,
            to: "the stored tokens of \(channel) are in force"
        ) { try await $0.lookIntoStore() }
    }

    private func metrics() async -> Response {
        var response = Response.text(200, PrometheusText.of(await daemon.status()))
        response.headers.set(
            HTTPField(validated: .contentType, "text/plain; version=0.0.4; charset=utf-8")
        )
        return response
    }

    private func readiness() async -> Response {
        let reasons = await daemon.reasonsNotReady
        guard reasons.isEmpty else { return .text(503, reasons.joined(separator: "\n") + "\n") }
        // One channel's fault is not a reason to restart the others.
        let lines = ["ready"] + (await daemon.outages).map(\.line)
        return .text(200, lines.joined(separator: "\n") + "\n")
    }

    /// Explains an exchange by its id, or the newest one of a channel that failed, was refused or was sent
    /// again.
    private func why(_ name: String) async -> Response {
        if await daemon.channels[name] != nil { return await newest(of: name) }
        let requestID = name
        guard let response = await explained(daemon.workers.recentExchange(requestID)) else {
            return problem(
                404,
                """
                no exchange \(requestID) among the last 1024 of each loop or the last 256 failures; \
                netproxy tail -n 1 --where request_id=\(requestID) looks in the log files, and \
                client_request_id=\(requestID) for an id that a client gave
                """
            )
        }
        return response
    }

    private func newest(of channel: String?) async -> Response {
        let exchange = await daemon.workers.newestTroubled(in: channel)
        let whose = channel.map { " of \($0)" } ?? ""
        return await explained(exchange)
            ?? problem(404, "no recent request\(whose) failed, was refused or was sent again")
    }

    private func explained(_ exchange: RecentExchange?) async -> Response? {
        guard let exchange, let explanation = ExchangeExplanation(exchange) else { return nil }
        var printer = await printer(.curl(Entrances(daemon.inForce.current)))
        let line = LogLine(exchange.line.filter { $0 != UInt8(ascii: "\n") })
        let command = line.map { printer.render([$0]).dropLast() } ?? []
        return .json(
            200,
            explanation.json(
                record: exchange.line,
                command: String(decoding: command, as: UTF8.self)
            )
        )
    }

    /// Lends a key until the connection closes.
    private func lend(
        _ query: AdminQuery,
        to peer: SocketPeer
    ) async -> Response {
        if let name = query.unknownName(among: ["channel", "as"]) {
            return problem(400, "expected channel=NAME or as=IDENTITY, found '\(name)'")
        }
        let identities = query["as"]
        guard identities.count < 2 else {
            return problem(
                400,
                "a key is for one identity; found as=\(identities.joined(separator: ", "))"
            )
        }
        let lent = await daemon.lend(
            to: query["channel"],
            as: identities.first,
            peer,
            over: reach
        )
        switch lent {
        case .success(let body):
            return Response(
                status: 200,
                headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
                body: .stream(body, length: nil)
            )
        case .failure(let refusal): return problem(refusal.status, refusal.detail)
        }
    }

    /// Streams the log as it is written, after the requested number of remembered exchanges.
    private func tail(_ query: AdminQuery) async -> Response {
        let wanted: AdminLogQuery
        do throws(AdminRefusal) {
            wanted = try AdminLogQuery(query, present: await daemon.channels.names)
        } catch {
            return problem(error.status, error.detail)
        }
        guard let feed = await daemon.assembly?.logs.feed else { return problem(503, "starting") }
        guard
            let subscription = feed.subscribe(channels: wanted.channels, filter: wanted.filter)
        else {
            return problem(503, "too many log readers (limit: \(LogFeed.subscriptionLimit))")
        }
        // Read these after the subscription, so that no exchange is missed in between.
        if wanted.last > 0 {
            let remembered = await daemon.workers.rememberedExchanges()
            var printer = LogPrinter(.json)
            subscription.begin(
                with: printer.render(remembered.last(wanted.last, where: wanted.includes)),
                leavingOut: remembered.known
            )
        }
        return Response(
            status: 200,
            headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: .stream(FeedBody(feed: feed, subscription: subscription), length: nil)
        )
    }

    /// Returns the last remembered exchanges as an HTTP Archive, which a browser saves.
    private func archive(_ query: AdminQuery) async -> Response {
        do throws(AdminRefusal) {
            let wanted = try AdminLogQuery(
                query,
                present: await daemon.channels.names,
                last: AdminLogQuery.mostLines
            )
            var printer = await printer(.archive(version: LibraryVersions.ownVersion))
            let lines = await daemon.workers.rememberedExchanges()
                .last(wanted.last, where: wanted.includes)
            return Response(
                status: 200,
                headers: [
                    .contentType: "application/json", .cacheControl: "no-store",
                    "Content-Disposition": "attachment; filename=\"netproxy.har\"",
                    "X-Content-Type-Options": "nosniff",
                ],
                body: .bytes(ByteSlice(printer.render(lines) + printer.end()))
            )
        } catch {
            return problem(error.status, error.detail)
        }
    }

    private func printer(_ rendering: LogPrinter.Rendering) async -> LogPrinter {
        let channels = await daemon.channels.channels.map(\.configuration)
        return LogPrinter(
            rendering,
            wholeQueries: Set(channels.filter { $0.log.query == .full }.map(\.name))
        )
    }

    /// Reloads, or with `plan` only lists the changes; the value of `plan` is ignored.
    ///
    /// Any other parameter is refused.
    private func reload(
        _ query: AdminQuery,
        for peer: SocketPeer
    ) async -> Response {
        if let name = query.unknownName(among: ["plan"]) {
            return problem(400, "expected plan or no parameter, found '\(name)'")
        }
        let isPlan = !query["plan"].isEmpty
        let lines = isPlan ? await daemon.plan() : await daemon.reload(by: peer)
        switch lines {
        case .success(let lines): return .text(200, lines.map { $0 + "\n" }.joined())
        case .failure(let failure):
            let status: HTTPStatus = failure.isStopping ? 503 : 422
            return .text(status, failure.lines.map { $0 + "\n" }.joined())
        }
    }

    /// Changes the tokens of a channel or an identity, records the peer, and reports the outcome.
    private func change(
        _ action: Audit,
        _ name: String,
        _ peer: SocketPeer,
        to done: String,
        orFailWith status: HTTPStatus = 503,
        _ change: (OAuthManager) async throws -> Void
    ) async -> Response {
        let channels = await daemon.channels
        // A renewal affects only the named tokens; a sign-in or sign-out affects all tokens of that sign-in.
        let managers =
            action == .refresh
            ? channels.managers(of: name) : channels.managersOfSignIn(of: name)
        if managers.isEmpty, let outage = channels[name]?.outage {
            return problem(503, outage.refusal().detail)
        }
        guard !managers.isEmpty else {
            return problem(404, "there is no channel or identity \(name) with tokens")
        }
        var failure: String?
        do {
            for manager in managers { try await change(manager) }
        } catch {
            failure = (error as? NetworkError)?.detail ?? "\(error)"
        }
        await daemon.record(action.record(of: [name], by: peer, failure: failure))
        return failure.map { problem(status, $0) } ?? .text(200, done + "\n")
    }

    private func problem(_ status: HTTPStatus, _ detail: String) -> Response {
        ProblemDocument(status: status, detail: detail).response
    }
}

/// The lines of a subscription as the content of an endless response.
final class FeedBody: BodySource {
    private let feed: LogFeed
    private let subscription: LogSubscription

    init(feed: LogFeed, subscription: LogSubscription) {
        self.feed = feed
        self.subscription = subscription
    }

    func next() async throws -> ByteSlice? {
        guard let lines = await subscription.next() else {
            feed.unsubscribe(subscription)
            return nil
        }
        return ByteSlice(lines)
    }

    func cancel() { feed.unsubscribe(subscription) }
}
