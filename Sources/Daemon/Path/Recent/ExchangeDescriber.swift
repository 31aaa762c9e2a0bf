import NetproxyConfig
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Describes a remembered exchange in sentences.
struct ExchangeDescriber {
    let exchange: RecentExchange
    let line: LogLine

    private var configuration: ChannelConfiguration? { exchange.channel?.configuration }

    var steps: [(step: String, text: String)] {
        var steps = [("request", request), ("route", route)]
        // Without an attempt, no request was sent, and no fields were changed for it.
        if attempts > 0, !isConnect, let headers { steps.append(("headers", headers)) }
        if let credential { steps.append(("credential", credential)) }
        for (index, attempt) in exchange.earlierAttempts.enumerated() {
            steps.append(("attempt \(index + 1)", described(attempt)))
        }
        if attempts > exchange.earlierAttempts.count {
            steps.append(("attempt \(attempts)", lastAttempt))
        }
        if let challenge { steps.append(("challenge", challenge)) }
        steps.append(("response", response))
        if let links { steps.append(("links", links)) }
        return steps
    }

    private var isConnect: Bool { plain("method") == "CONNECT" }

    private var attempts: Int { line["attempts"]?.integer ?? 0 }

    private func plain(_ key: String) -> String? { line[key]?.plain }

    private var request: String {
        let who = plain("client_uid").map { ", user \($0)," } ?? ""
        let target = plain("target") ?? plain("path") ?? plain("host") ?? ""
        let what = plain("method").map { "\($0) \(target)" } ?? "a malformed request"
        return "\(what) from \(plain("client") ?? "?")\(who) at \(line.time)"
    }

    // MARK: - Route

    private var route: String {
        guard let channel = configuration, let rule = exchange.rule else {
            guard attempts > 0 else { return "no channel" }
            return isConnect
                ? "no channel; a tunnel to a host that connect lists, without a credential"
                : "no channel; unmatched: forward, without a credential"
        }
        let reason =
            switch rule {
            case .listener: "it arrived on the channel's own listener"
            case .host: "its host is one of \(channel.match.hosts.joined(separator: ", "))"
            case .upstream:
                "its absolute form names the channel's upstream; the path is unchanged"
            case .path: "its path begins with \(channel.match.path)\(prefix(of: channel))"
            }
        guard channel.stub == nil else {
            return "channel \(channel.name), because \(reason); its stub answers, not an upstream"
        }
        let upstream = channel.upstreams.first.map { base($0) } ?? ""
        let sent = plain("target") == nil ? nil : plain("path").map { "; sent as \($0)" }
        return "channel \(channel.name), because \(reason); upstream \(upstream)\(sent ?? "")"
    }

    private func prefix(of channel: ChannelConfiguration) -> String {
        channel.match.strip == .remove ? ", which is removed" : ", which is kept"
    }

    private func base(_ upstream: UpstreamURL) -> String {
        "\(upstream.origin)\(upstream.basePath)"
    }

    // MARK: - The upstream request

    /// The changes to the request's fields; `nil` if there were none.
    private var headers: String? {
        let changes = HeaderChanges(exchange, rules: configuration?.editedFields)
        var parts: [String] = []
        for (word, names) in [
            ("added", changes.added), ("replaced", changes.replaced), ("removed", changes.removed),
        ] where !names.isEmpty {
            parts.append("\(word) \(names.joined(separator: ", "))")
        }
        if exchange.fields.contains(.connection) {
            parts.append("and what Connection named was removed")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private var credential: String? {
        let identity = plain("auth.identity")
        let credentials = configuration?.credentials ?? []
        guard
            let authentication =
                (credentials.first { $0.identity == identity }
                ?? credentials.first)?.authentication
        else { return nil }
        guard let kind = plain("auth.kind") else {
            return attempts == 0
                ? "none was sent; the channel uses \(authentication.label)"
                : "the app's own was kept (on_client_credential: keep)"
        }
        var text = kind
        if let generation = plain("auth.generation") { text += " token, generation \(generation)" }
        if let age = plain("auth.age_s") { text += ", \(age) s old" }
        if let identity { text += ", identity \(identity)" }
        text += ", from \(authentication.label)"
        switch configuration?.placement {
        case .query(let name, _): text += ", in the query as \(name)"
        case .path: text += ", in the path"
        case .header(let name, _) where HTTPFieldName(name) != .authorization:
            text += ", in \(name)"
        case .header, nil: break
        }
        if line["auth.refreshed"] == .flag(true) { text += "; renewed for this exchange" }
        if let wait = plain("auth.wait_ms") { text += "; waited \(wait) ms for it" }
        if line["auth.overrode_client"] == .flag(true) {
            text += "; the app's own credential was replaced"
        }
        if let reason = plain("auth.not_replayed") {
            text += "; the \(refusal) was passed on (\(reason)"
            text += NotReplayed(rawValue: reason).map { ": \($0.explanation))" } ?? ")"
        }
        return text + hint(on: authentication)
    }

    /// The status of the response that refused the credential; a gRPC call is refused with a 200.
    private var refusal: String {
        let status = plain("upstream_status") ?? "401"
        return status == "200" ? RPCStatus.unauthenticated.name : status
    }

    /// Returns a hint for an API that may refuse an expired token with a status other than 401.
    private func hint(on authentication: Authentication) -> String {
        guard let configuration, let status = line["upstream_status"]?.integer,
            [400, 403].contains(status), plain("auth.generation") != nil,
            !configuration.retry.refusals.status.contains(status),
            // The API accepted the token but requires another scope.
            exchange.challenge?.contains("error insufficient_scope") != true
        else { return "" }
        if authentication.settings?.knowsRefusals == true { return "" }
        return "; if the API refuses the token with this \(status), netproxy token "
            + "\(configuration.name) --refresh mends it, and "
            + "retry.unauthorized: { status: [\(status)] } does so for every request"
    }

    private func described(_ attempt: AttemptFacts) -> String {
        let origin = attempt.destination?.origin ?? exchange.channel?.origin
        var parts = [
            connection(
                attempt.upstreamAddress,
                isReused: attempt.isConnectionReused,
                of: origin?.authority
            )
        ]
        if let identity = attempt.identity { parts.append("identity \(identity)") }
        if let generation = attempt.generation { parts.append("token generation \(generation)") }
        let timings = attempt.timings
        parts += phases(
            [
                ("queue", timings.queue), ("dns", timings.dns), ("connect", timings.connect),
                ("tls", timings.tls), ("first byte", timings.firstByte),
            ].map { ($0.0, $0.1.map { $0.seconds * 1000 }) }
        )
        if let status = attempt.status { parts.append("status \(status.rawValue)") }
        return parts.joined(separator: ", ") + " → sent again: \(attempt.reason)"
    }

    private var lastAttempt: String {
        var parts = [
            connection(
                plain("upstream"),
                isReused: line["reused"] == .flag(true),
                of: plain("host")
            )
        ]
        if !exchange.earlierAttempts.isEmpty, let identity = plain("auth.identity") {
            parts.append("identity \(identity)")
        }
        if !exchange.earlierAttempts.isEmpty, let generation = plain("auth.generation") {
            parts.append("token generation \(generation)")
        }
        parts += phases(
            [
                ("queue", "queue_ms"), ("dns", "dns_ms"), ("connect", "connect_ms"),
                ("tls", "tls_ms"),
                ("first byte", "first_byte_ms"),
            ].map { ($0.0, line["timings.\($0.1)"]?.number) }
        )
        if let status = plain("upstream_status") {
            parts.append("status \(status)")
        } else if let error = plain("error") {
            parts.append("failed: \(error)")
        }
        return parts.joined(separator: ", ")
    }

    /// Describes the connection; without one, names the upstream if the channel has several.
    private func connection(_ address: String?, isReused: Bool, of upstream: String?) -> String {
        guard let address else {
            guard let upstream, let configuration, configuration.upstreams.count > 1 else {
                return "no connection"
            }
            return "no connection to \(upstream)"
        }
        if address == SampleTransport.address { return "the channel's stub" }
        return "\(address) over a \(isReused ? "pooled" : "new") connection"
    }

    private func phases(_ phases: [(name: String, milliseconds: Double?)]) -> [String] {
        phases.compactMap { phase in
            phase.milliseconds.map { "\(phase.name) \(($0 * 1000).rounded() / 1000) ms" }
        }
    }

    // MARK: - The response

    /// The API's challenge to a refused credential.
    private var challenge: String? {
        guard let challenge = exchange.challenge else { return nil }
        guard challenge.contains("error insufficient_scope"),
            let credential = configuration?.credentials.first, let settings = credential.oauth
        else { return challenge }
        if settings.discovery != nil {
            return "\(challenge); the token lacks a scope: \(credential.signIn) asks for it"
        }
        return "\(challenge); the token lacks a scope: add it to auth.oauth.scopes"
    }

    private var response: String {
        var parts: [String] = []
        if let status = plain("status") { parts.append("status \(status)") }
        if let code = line["grpc_status"]?.integer {
            parts.append("gRPC status \(code) (\(RPCStatus(rawValue: code).name))")
        }
        parts.append("\(plain("bytes_in") ?? "0") bytes in, \(plain("bytes_out") ?? "0") bytes out")
        parts.append("\(plain("duration_ms") ?? "0") ms in all")
        if let error = plain("error") {
            parts.append("error \(error)\(plain("detail").map { ": \($0)" } ?? "")")
        }
        if case .list(let reasons) = line["retries"],
            reasons.contains(where: { $0.plain == RetryReason.budgetExhausted.description })
        {
            parts.append("not sent again: the channel's retry.budget is used up")
        }
        if let side = plain("aborted_by") { parts.append("aborted by the \(side)") }
        return parts.joined(separator: ", ")
    }
}

extension ExchangeDescriber {
    /// The references in the response that lead a client past netproxy, with advice.
    private var links: String? {
        let own = exchange.leads.fields(leadingTo: .upstream)
        let links = own.filter { $0 != .cookie }.map(\.name.text)
        var parts: [String] = []
        if !links.isEmpty {
            parts.append(
                "past netproxy, to the upstream itself: \(links.joined(separator: ", ")); "
                    + "rewrite: true leads back to what the app used"
            )
        }
        if own.contains(.cookie) {
            parts.append(
                "Set-Cookie is for the upstream's own host, path or https, so the app does not send it "
                    + "back to netproxy: rewrite: true maps it"
            )
        }
        let elsewhere = exchange.leads.fields(leadingTo: .elsewhere).map(\.name.text)
        if !elsewhere.isEmpty {
            parts.append(
                "away from netproxy, to another server or out of the upstream's base path: "
                    + elsewhere.joined(separator: ", ")
            )
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
