import Bytes
import HTTPMessage
import NetworkCore
import RequestLog

/// Answers on the admin socket (contract section 6); never reachable through a data listener.
struct AdminHandler: Sendable {
    /// Whether the socket is a TCP port, which a web page could try to reach.
    let isTCP: Bool
    let daemon: Daemon

    func answer(_ call: LocalServer.Call) async -> Response {
        if isTCP {
            do throws(AdminGuard.Refusal) {
                try AdminGuard.check(call)
            } catch {
                return problem(error.status, error.detail)
            }
        }
        let parts = call.path.split(separator: "/").map(String.init)
        // RFC 9110 §9.3.2: HEAD is GET; the connection leaves the content out.
        let method = call.method == .head ? .get : call.method
        switch (method, parts) {
        case (.get, []): return AdminPage.response(await daemon.status())
        case (.get, ["healthz"]): return .text(200, "ok\n")
        case (.get, ["readyz"]): return await readiness()
        case (.get, ["metrics"]):
            var response = Response.text(200, PrometheusText.of(await daemon.status()))
            response.headers.set(
                HTTPField(validated: .contentType, "text/plain; version=0.0.4; charset=utf-8")
            )
            return response
        case (.get, ["status"]): return .json(200, await daemon.status().json)
        case (.get, ["tail"]): return await tail(AdminQuery(call.query))
        case (.get, let parts) where parts.count == 2 && parts[0] == "why":
            return await why(PercentEncoding.decodedSegment(parts[1][...]))
        case (.post, ["keys"]): return await lend(AdminQuery(call.query))
        case (.post, ["reload"]): return await reload(AdminQuery(call.query))
        case (.post, let parts)
        where AdminHandler.isToken(parts) && parts.last == "refresh":
            return await refresh(parts[1])
        case (.post, let parts)
        where AdminHandler.isToken(parts) && parts.last == "adopt":
            return await adopt(parts[1])
        case (.delete, let parts) where AdminHandler.isToken(parts) && parts.count == 3:
            return await forget(parts[1])
        default: break
        }
        guard let methods = AdminHandler.methods(of: parts) else {
            return problem(404, "there is no \(call.path) here")
        }
        var refusal = problem(405, "\(call.path) is for \(methods), not \(call.method)")
        refusal.headers.append("Allow", validated: methods)
        return refusal
    }

    /// Whether a path leads to a channel's token.
    private static func isToken(_ parts: [String]) -> Bool {
        (3...4).contains(parts.count) && parts[0] == "channels" && parts[2] == "token"
    }

    /// What a path is for; nothing if it is for nothing.
    private static func methods(of parts: [String]) -> String? {
        switch parts {
        case [], ["healthz"], ["readyz"], ["metrics"], ["status"], ["tail"]: "GET, HEAD"
        case ["keys"], ["reload"]: "POST"
        case let parts where parts.count == 2 && parts[0] == "why": "GET, HEAD"
        case let parts where isToken(parts) && parts.count == 3: "DELETE"
        case let parts where isToken(parts) && ["refresh", "adopt"].contains(parts[3]): "POST"
        default: nil
        }
    }

    private func readiness() async -> Response {
        let reasons = await daemon.reasonsNotReady
        return reasons.isEmpty
            ? .text(200, "ready\n") : .text(503, reasons.joined(separator: "\n") + "\n")
    }

    private func why(_ requestID: String) async -> Response {
        guard let exchange = await daemon.recentExchange(requestID),
            let explanation = ExchangeExplanation(exchange)
        else {
            return problem(
                404,
                """
                no exchange \(requestID) among the last 1024 of each loop or the last 256 failures; \
                netproxy tail -n 1 --where request_id=\(requestID) looks in the log files
                """
            )
        }
        return .json(200, explanation.json(record: exchange.line))
    }

    /// A key for as long as the connection stays.
    private func lend(_ query: AdminQuery) async -> Response {
        if let name = query.unknownName(among: ["channel"]) {
            return problem(400, "expected channel=NAME, found '\(name)'")
        }
        switch await daemon.lend(to: query["channel"]) {
        case .success(let body):
            return Response(
                status: 200,
                headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
                body: .stream(body, length: nil)
            )
        case .failure(let refusal): return problem(refusal.status, refusal.detail)
        }
    }

    /// The log as it happens.
    private func tail(_ query: AdminQuery) async -> Response {
        if let name = query.unknownName(among: ["channel", "where"]) {
            return problem(400, "expected channel=NAME or where=EXPRESSION, found '\(name)'")
        }
        let (channels, present) = (query["channel"], await daemon.channels.map(\.name))
        for channel in channels where channel != LogDirectory.ownLog && !present.contains(channel) {
            return problem(404, UnknownChannel(name: channel, present: present).description)
        }
        var filter: [WhereExpression] = []
        for text in query["where"] {
            do throws(WhereExpression.Invalid) {
                filter.append(try WhereExpression(text))
            } catch {
                return problem(400, "where=\(text): \(error.description)")
            }
        }
        guard let feed = await daemon.assembly?.logs.feed else { return problem(503, "starting") }
        guard let subscription = feed.subscribe(channels: channels, filter: filter) else {
            return problem(503, "\(LogFeed.subscriptionLimit) readers of the log are enough")
        }
        return Response(
            status: 200,
            headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: .stream(FeedBody(feed: feed, subscription: subscription), length: nil)
        )
    }

    /// Tells with `plan`, whatever its value, and does without; what looks like another wish is no
    /// leave to reload.
    private func reload(_ query: AdminQuery) async -> Response {
        if let name = query.unknownName(among: ["plan"]) {
            return problem(400, "expected plan or nothing, found '\(name)'")
        }
        let lines = query["plan"].isEmpty ? await daemon.reload() : await daemon.plan()
        switch lines {
        case .success(let lines): return .text(200, lines.map { $0 + "\n" }.joined())
        case .failure(let errors): return .text(422, errors.lines.map { $0 + "\n" }.joined())
        }
    }

    private func refresh(_ name: String) async -> Response {
        await change(tokensOf: name, to: "the token of \(name) was renewed", orFailWith: 503) {
            try await $0.forceRefresh()
        }
    }

    /// Somebody has signed in with the command line.
    private func adopt(_ name: String) async -> Response {
        await change(
            tokensOf: name,
            to: "the stored tokens of \(name) are in force",
            orFailWith: 503
        ) {
            try await $0.lookIntoStore()
        }
    }

    private func forget(_ name: String) async -> Response {
        await change(tokensOf: name, to: "the tokens of \(name) are forgotten", orFailWith: 500) {
            try await $0.forget()
        }
    }

    /// Changes the tokens of a channel, and says what became of them.
    private func change(
        tokensOf name: String,
        to done: String,
        orFailWith status: HTTPStatus,
        _ change: (OAuthManager) async throws -> Void
    ) async -> Response {
        guard let manager = await daemon.tokens(of: name) else {
            return problem(404, "there is no channel \(name) with auth.oauth")
        }
        do {
            try await change(manager)
            return .text(200, done + "\n")
        } catch {
            return problem(status, (error as? NetworkError)?.detail ?? "\(error)")
        }
    }

    private func problem(_ status: HTTPStatus, _ detail: String) -> Response {
        let output = OutputBuffer(capacity: 256)
        output.append("{\"status\":")
        output.append(decimal: status.rawValue)
        output.append(",\"detail\":")
        JSONText.append(detail, to: output)
        output.append("}\n")
        return Response(
            status: status,
            headers: [.contentType: "application/problem+json"],
            body: .bytes(ByteSlice(output.span.array))
        )
    }
}
