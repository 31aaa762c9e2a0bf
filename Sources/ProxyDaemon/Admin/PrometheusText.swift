/// The counters in the text format that Prometheus reads (version 0.0.4).
enum PrometheusText {
    static func of(_ status: DaemonStatus) -> String {
        var text = ""
        func metric(_ name: String, _ kind: String, _ help: String, _ lines: [(String, Double)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
            for (labels, value) in lines {
                let number = value == value.rounded() ? String(Int(value)) : String(value)
                text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(number)\n"
            }
        }
        func perChannel(_ value: (DaemonStatus.Channel) -> Double?) -> [(String, Double)] {
            status.channels.compactMap { channel in
                value(channel).map { ("channel=\"\(channel.name)\"", $0) }
            }
        }
        metric("netproxy_up", "gauge", "Whether the daemon serves.", [("", 1)])
        metric(
            "netproxy_uptime_seconds",
            "gauge",
            "Seconds since the start.",
            [("", status.uptimeS)]
        )
        metric(
            "netproxy_connections",
            "gauge",
            "Open connections from apps.",
            [("", Double(status.connections))]
        )
        metric(
            "netproxy_log_lines_dropped_total",
            "counter",
            "Log lines that could not be written.",
            [("", Double(status.logLinesDropped))]
        )
        metric(
            "netproxy_requests_total",
            "counter",
            "Finished exchanges by class of status.",
            status.channels.flatMap { channel in
                channel.statuses.sorted { $0.key < $1.key }.map {
                    ("channel=\"\(channel.name)\",status=\"\($0.key)\"", Double($0.value))
                }
            }
        )
        metric(
            "netproxy_unclaimed_requests_total",
            "counter",
            "Finished exchanges that no channel claimed, by class of status.",
            (status.unclaimed ?? [:]).sorted { $0.key < $1.key }.map {
                ("status=\"\($0.key)\"", Double($0.value))
            }
        )
        metric(
            "netproxy_errors_total",
            "counter",
            "Exchanges that netproxy answered with an error.",
            perChannel { Double($0.errors) }
        )
        metric(
            "netproxy_retries_total",
            "counter",
            "Attempts beyond the first.",
            perChannel { Double($0.retries) }
        )
        metric(
            "netproxy_received_bytes_total",
            "counter",
            "Content bytes from apps.",
            perChannel { Double($0.bytesIn) }
        )
        metric(
            "netproxy_sent_bytes_total",
            "counter",
            "Content bytes to apps.",
            perChannel { Double($0.bytesOut) }
        )
        metric(
            "netproxy_upstream_connections",
            "gauge",
            "Open connections to the upstream.",
            perChannel { Double($0.pool.open) }
        )
        metric(
            "netproxy_upstream_idle_connections",
            "gauge",
            "Open connections to the upstream that wait for a request.",
            perChannel { Double($0.pool.idle) }
        )
        metric(
            "netproxy_upstream_waiting_requests",
            "gauge",
            "Requests that wait for a connection.",
            perChannel { Double($0.pool.queued) }
        )
        metric(
            "netproxy_token_state",
            "gauge",
            "1 for the state of the channel's token: dead wants a person, failed an operator.",
            status.channels.compactMap { channel in
                channel.token.map { ("channel=\"\(channel.name)\",state=\"\($0.state)\"", 1) }
            }
        )
        metric(
            "netproxy_token_generation",
            "gauge",
            "How many access tokens the family has had.",
            perChannel { $0.token?.generation.map(Double.init) }
        )
        metric(
            "netproxy_token_expires_in_seconds",
            "gauge",
            "Seconds that the access token lives.",
            perChannel(\.token?.expiresInS)
        )
        metric(
            "netproxy_refresh_token_expires_in_seconds",
            "gauge",
            "Seconds until a person must sign in again, where the server tells.",
            perChannel(\.token?.refreshExpiresInS)
        )
        return text
    }
}
