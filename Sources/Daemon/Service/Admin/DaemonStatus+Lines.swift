import NetproxyChannels
import NetproxyPath

extension DaemonStatus {
    /// The output lines of `netproxy status`: one for each channel, those that need attention first.
    package var overview: [String] {
        let width = channels.map(\.name.count).max() ?? 0
        // Stable, so that channels in the same state keep the order of the configuration.
        let sorted = channels.enumerated().sorted {
            ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
        }
        let rows = sorted.map { "  \($0.element.row(width))" }
        return head + (store?.lines ?? []) + rows + unclaimedLines
    }

    /// Returns the output lines of `netproxy status NAME` for a channel or an identity; `nil` for an
    /// unknown name.
    package func details(of name: String) -> [String]? {
        if let channel = channels.first(where: { $0.name == name }) { return channel.lines }
        return identities?.first { $0.name == name }?.lines
    }

    /// All facts as lines, for a page without scripts.
    package var lines: [String] {
        head + (store?.lines ?? []) + (identities ?? []).flatMap(\.lines)
            + channels.flatMap(\.lines) + unclaimedLines
    }

    /// The state of the process, and the last refused reload.
    private var head: [String] {
        // A draining daemon has no listeners.
        let places = listen.isEmpty ? "" : " on \(listen.joined(separator: ", "))"
        var head = [
            "\(state)\(places)\(state == "serving" ? "" : ", up") for \(Wording.time(uptimeS))",
            Wording.count(connections, "connection"), Wording.count(workers, "worker"),
        ]
        if let refused = connectionsRefused, refused > 0 {
            head.append(
                "\(Wording.count(refused, "connection")) rejected (limits.connections)"
            )
        }
        if logLinesDropped > 0 {
            head.append("\(Wording.count(logLinesDropped, "log line")) dropped")
        }
        return [head.joined(separator: ", ")] + refusalLines
    }

    private var refusalLines: [String] {
        guard let configuration, let refused = configuration.refusedS, let process else {
            return []
        }
        let now = process.startS + uptimeS
        let (age, since) = (now - configuration.loadedS, now - refused)
        let line =
            "the configuration of \(Wording.time(age)) ago is in force; a reload "
            + "\(Wording.time(since)) ago was refused:"
        return [line] + (configuration.refusal ?? []).map { "  \($0)" }
    }

    private var unclaimedLines: [String] {
        guard let unclaimed, !unclaimed.isEmpty else { return [] }
        let total = Wording.count(unclaimed.values.reduce(0, +), "request")
        return ["without a channel", "  traffic  \(total) (\(DaemonStatus.classes(unclaimed)))"]
    }

    /// Returns the counts by class: `2xx 4, 5xx 1`.
    fileprivate static func classes(_ statuses: [String: Int]) -> String {
        statuses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}

extension DaemonStatus.Store {
    fileprivate var lines: [String] {
        guard let fault, let detail else { return [] }
        return ["state in \(kind): \(fault)", "  fault    \(detail)"]
    }
}

extension DaemonStatus.ChannelStatus {
    fileprivate var lines: [String] {
        let upstreams = [upstream] + (furtherUpstreams ?? [])
        let place = url.map { " \($0)" } ?? ""
        var lines = ["\(name)\(place) → \(upstreams.joined(separator: ", then "))"]
        if state != nil { lines.append("  state    \(summary)") }
        if let reason {
            let next = nextAttemptS.map { "; next attempt in \(Wording.time($0))" } ?? ""
            let what = state == .failed || state == .starting ? "" : "serves with old values: "
            lines.append("           \(what)\(reason)\(next)")
        }
        var counts = [
            Wording.count(requests, "request")
                + (statuses.isEmpty ? "" : " (\(DaemonStatus.classes(statuses)))"),
            Wording.count(errors, "netproxy error")
                + (errorsByWord.map { " (\(DaemonStatus.classes($0)))" } ?? ""),
        ]
        counts.append("\(retries) \(retries == 1 ? "retry" : "retries")")
        lines.append("  traffic  \(counts.joined(separator: ", "))")
        if let durations {
            let first = firstBytes.map { "; upstream's first byte \($0.text)" } ?? ""
            lines.append("  time     \(durations.text)\(first)")
        }
        lines.append("  pool     \(pool.open) open, \(pool.idle) idle, \(pool.queued) waiting")
        if let identities {
            let names = identities.map { name in
                resting?[name].map { "\(name) (left alone for \(Wording.time($0)))" } ?? name
            }
            lines.append("  identity \(names.joined(separator: ", then "))")
            return lines
        }
        guard let token else { return lines }
        lines.append("  token    \(token.summary(of: name))")
        if let error = token.lastError { lines.append("           last error: \(error)") }
        return lines
    }
}

extension DaemonStatus.ChannelStatus {
    /// The state and the result that led to it: `failed, 12 s ago the API responded with 503`.
    fileprivate var summary: String {
        let state = state?.rawValue ?? "unknown"
        if let failure { return "\(state), \(Wording.time(failure.ageS)) ago \(failure.detail)" }
        if let successAgeS { return "\(state), last success \(Wording.time(successAgeS)) ago" }
        return reason == nil && self.state == .idle ? "idle, no request yet" : state
    }

    /// The order of the channel in the overview.
    fileprivate var rank: Int {
        switch state {
        case .failed: 0
        case .signIn: 1
        case .starting: 2
        case .working, .idle, nil: reason == nil ? 4 : 3
        }
    }

    /// Returns the line of the overview; the facts come first, because a terminal may cut the rest.
    fileprivate func row(_ width: Int) -> String {
        var parts = ["\(url ?? "no TCP listener") → \(upstream)"]
        if let reason {
            parts.append(reason)
        } else if let advice = token?.advice {
            parts.append(advice)
        } else if let failure {
            parts.append("\(Wording.time(failure.ageS)) ago \(failure.detail)")
            if let error = token?.lastError { parts.append(error) }
        } else if let successAgeS {
            parts.append("last success \(Wording.time(successAgeS)) ago")
        }
        if let token, token.advice == nil {
            let expiry = token.expiresInS.map { $0 > 0 ? ", expires in \(Wording.time($0))" : "" }
            parts.append("token \(token.state)\(expiry ?? "")")
        }
        let state = (state?.rawValue ?? "unknown").padded(to: 8)
        return "\(state) \(name.padded(to: width))  \(parts.joined(separator: "; "))"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

extension DaemonStatus.Identity {
    fileprivate var lines: [String] {
        var lines = ["identity \(name) of \(channels.joined(separator: ", "))"]
        for token in tokens {
            lines.append("  token    \(token.summary(of: name))")
            if let error = token.lastError { lines.append("           last error: \(error)") }
        }
        return lines
    }
}

extension DaemonStatus.Durations {
    /// Upper bounds of the median and the 99th percentile: `p50 ≤ 2 ms, p99 ≤ 50 ms`.
    var text: String { "p50 \(bound(of: 50)), p99 \(bound(of: 99))" }

    private func bound(of percent: Int) -> String {
        let wanted = ((buckets.last?.count ?? 0) * percent + 99) / 100
        guard let bound = buckets.first(where: { $0.count >= wanted })?.withinS else {
            let longest = buckets.compactMap(\.withinS).last ?? 0
            return "> \(Int(longest)) s"
        }
        return bound < 1 ? "≤ \(Int(bound * 1000)) ms" : "≤ \(Int(bound)) s"
    }
}

extension DaemonStatus.Token {
    /// Returns the state, generation, age, expiry and next attempt of a channel's token, without its last
    /// error.
    package func summary(of channel: String) -> String {
        var parts = [state]
        if let generation { parts.append("generation \(generation)") }
        if let ageS { parts.append("\(Wording.time(ageS)) old") }
        if let expiresInS {
            parts.append(
                expiresInS > 0 ? "expires in \(Wording.time(expiresInS))" : "expired"
            )
        }
        if let refreshExpiresInS, state != "dead" {
            parts.append("sign-in ends in \(Wording.time(refreshExpiresInS))")
        }
        if let scope, !scope.isEmpty { parts.append("scope \(scope)") }
        if let issuer {
            let what = resource.map { " for \($0)" } ?? ""
            let who = client.map { " as the client \($0) (\(clientKind ?? ""))" } ?? ""
            parts.append("from \(issuer)\(what)\(who)")
        }
        if let waiters, waiters > 0 {
            parts.append("\(Wording.count(waiters, "request")) waiting")
        }
        if let storeFault { parts.append("token store \(storeFault)") }
        if isUnsaved == true { parts.append("not saved in the state directory") }
        if let nextAttemptS { parts.append("next attempt in \(Wording.time(nextAttemptS))") }
        if let otherResource {
            let signIn = advice ?? "netproxy login \(channel)"
            parts.append("the stored sign-in is for another resource, \(otherResource): \(signIn)")
        } else if state == "dead" {
            parts.append("sign in again: \(advice ?? "netproxy login \(channel)")")
        } else if let advice {
            parts.append("no one has signed in yet: \(advice)")
        } else if let wantedScope {
            parts.append("the API wants the scope \(wantedScope): netproxy login \(channel)")
        }
        return parts.joined(separator: ", ")
    }
}
