import NetproxyChannels
import NetproxyPath

extension DaemonStatus {
    /// The output lines of `netproxy status`.
    package var lines: [String] {
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
        return [head.joined(separator: ", ")] + refusalLines + (store?.lines ?? [])
            + (identities ?? []).flatMap(\.lines) + channels.flatMap(\.lines)
            + unclaimedLines
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
        var lines = ["\(name) → \(upstreams.joined(separator: ", then "))"]
        if let reason {
            let next = nextAttemptS.map { "; next attempt in \(Wording.time($0))" } ?? ""
            lines.append("  \(state ?? "old values")  \(reason)\(next)")
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
