import NetproxyPath
@_spi(Proxying) import NetworkCore

/// The counters in the Prometheus text format (version 0.0.4).
///
/// The names are stable: <doc:Metrics> lists them, and a test compares the two.
struct PrometheusText {
    /// A count of 0 for each error code with which a channel's exchange can end.
    private static let noErrors: [String: Int] = {
        let others: Set<ErrorKind> = [
            // Errors of requests without a channel.
            .noChannel, .requestHeadTimeout,
            // Errors of the client library.
            .unacceptableResponse, .undecodableResponse, .httpResponseBodySize,
            .httpResponseContentCoding,
        ]
        let words = ErrorKind.allCases.filter { !others.contains($0) }.map(\.rawValue)
        return Dictionary(uniqueKeysWithValues: words.map { ($0, 0) })
    }()

    private let status: DaemonStatus
    private var text = ""

    /// Returns the content of the response to `/metrics`.
    static func of(_ status: DaemonStatus) -> String {
        var page = PrometheusText(status: status)
        page.writeDaemon()
        page.writeTraffic()
        page.writeUpstreams()
        page.writeTokens()
        page.writeStore()
        page.writeProcess()
        return page.text
    }

    private init(status: DaemonStatus) {
        self.status = status
    }

    private mutating func writeDaemon() {
        write(.gauge, "netproxy_up", "Whether the daemon serves.", 1)
        begin(.gauge, "netproxy_build_info", "The running version.")
        sample("netproxy_build_info", [("version", status.version ?? "")], 1)
        write(.gauge, "netproxy_uptime_seconds", "Seconds since the start.", status.uptimeS)
        if let configuration = status.configuration {
            write(
                .gauge,
                "netproxy_config_last_reload_successful",
                "1 if the last reload succeeded.",
                configuration.refusedS == nil ? 1 : 0
            )
            write(
                .gauge,
                "netproxy_config_last_reload_success_timestamp_seconds",
                "When the configuration came into force, in seconds since 1970.",
                configuration.loadedS
            )
        }
        write(
            .gauge,
            "netproxy_connections",
            "Open connections from clients.",
            Double(status.connections)
        )
        write(
            .counter,
            "netproxy_connections_refused_total",
            "Connections from clients that were closed because limits.connections was reached.",
            Double(status.connectionsRefused ?? 0)
        )
        write(
            .counter,
            "netproxy_log_lines_dropped_total",
            "Log lines that could not be written.",
            Double(status.logLinesDropped)
        )
    }

    private mutating func writeTraffic() {
        write(
            .gauge,
            "netproxy_channel_up",
            "0 while the channel refuses its requests: it lacks a secret or a file."
        ) { $0.refuses == true ? 0 : 1 }
        write(
            .counter,
            "netproxy_requests_total",
            "Finished exchanges by class of status.",
            by: "status",
            \.statuses
        )
        begin(
            .counter,
            "netproxy_unclaimed_requests_total",
            "Finished exchanges that no channel claimed, by class of status."
        )
        for (name, count) in (status.unclaimed ?? [:]).sorted(by: { $0.key < $1.key }) {
            sample("netproxy_unclaimed_requests_total", [("status", name)], Double(count))
        }
        write(
            .counter,
            "netproxy_errors_total",
            "Exchanges that ended with an error of netproxy, by error code.",
            by: "error"
        ) { channel in
            // Export zeros from the start: otherwise the increase to the first error would be invisible.
            PrometheusText.noErrors.merging(channel.errorsByWord ?? [:]) { $1 }
        }
        write(
            .counter,
            "netproxy_grpc_calls_total",
            "Finished calls of gRPC, by status.",
            by: "grpc_status",
            \.callsByStatus
        )
        write(.counter, "netproxy_retries_total", "Attempts beyond the first.") {
            Double($0.retries)
        }
        write(.counter, "netproxy_received_bytes_total", "Content bytes received from clients.") {
            Double($0.bytesIn)
        }
        write(.counter, "netproxy_sent_bytes_total", "Content bytes sent to clients.") {
            Double($0.bytesOut)
        }
        write(
            "netproxy_request_duration_seconds",
            "From the complete head of a request to the last byte of the response.",
            \.durations
        )
    }

    private mutating func writeUpstreams() {
        write(
            "netproxy_upstream_first_byte_seconds",
            "From when the last attempt's request went out to the head of its response.",
            \.firstBytes
        )
        write(.gauge, "netproxy_upstream_connections", "Open connections to the upstream.") {
            Double($0.pool.open)
        }
        write(
            .gauge,
            "netproxy_upstream_idle_connections",
            "Open connections to the upstream that wait for a request."
        ) { Double($0.pool.idle) }
        write(
            .gauge,
            "netproxy_upstream_waiting_requests",
            "Requests that wait for a connection."
        ) { Double($0.pool.queued) }
    }

    private mutating func writeStore() {
        guard let store = status.store else { return }
        write(
            .gauge,
            "netproxy_state_up",
            "0 while the shared store of tokens does not serve.",
            store.fault == nil ? 1 : 0
        )
        let name = "netproxy_state_faults_total"
        begin(.counter, name, "Faults of the shared store of tokens.")
        for (kind, count) in store.faults.sorted(by: { $0.key < $1.key }) {
            sample(name, [("fault", kind)], Double(count))
        }
    }

    private mutating func writeTokens() {
        let name = "netproxy_token_state"
        begin(
            .gauge,
            name,
            "1 for the state of the token; dead: sign in again; failed: check the configuration."
        )
        for (label, token) in tokens { sample(name, [label, ("state", token.state)], 1) }
        writeTokens(
            .gauge,
            "netproxy_token_generation",
            "How many access tokens there have been since the sign-in."
        ) { $0.generation.map(Double.init) }
        writeTokens(
            .gauge,
            "netproxy_token_expires_in_seconds",
            "Seconds until the access token expires."
        ) { $0.expiresInS }
        writeTokens(
            .gauge,
            "netproxy_refresh_token_expires_in_seconds",
            "Seconds until re-authentication is required, if the server reports it."
        ) { $0.refreshExpiresInS }
        writeTokens(
            .gauge,
            "netproxy_token_unsaved",
            "1 if the newest tokens could not be stored: they are lost when the process ends."
        ) { $0.isUnsaved == true ? 1 : 0 }
        writeTokens(
            .gauge,
            "netproxy_token_store_up",
            "0 while the place where the token is stored fails or does not respond."
        ) { $0.storeFault == nil ? 1 : 0 }
        writeStoreFaults()
        writeTokens(.gauge, "netproxy_token_waiting_requests", "Requests that wait for a token.") {
            $0.waiters.map(Double.init)
        }
        writeTokens(
            .counter,
            "netproxy_token_renewals_total",
            "Tokens obtained from the token endpoint."
        ) { $0.renewals.map(Double.init) }
        writeTokens(.counter, "netproxy_token_failures_total", "Token requests that failed.") {
            $0.failures.map(Double.init)
        }
        writeTokens(
            .counter,
            "netproxy_token_excess_total",
            "Renewals that the excess guard prevented."
        ) { $0.excesses.map(Double.init) }
    }

    private mutating func writeStoreFaults() {
        let name = "netproxy_token_store_faults_total"
        begin(.counter, name, "Faults of the place where the token is stored.")
        for (label, token) in tokens {
            for (fault, count) in (token.faults ?? [:]).sorted(by: { $0.key < $1.key }) {
                sample(name, [label, ("fault", fault)], Double(count))
            }
        }
    }

    /// The tokens of channels and identities, each with the label of its owner.
    ///
    /// If all channels of an identity narrow its scopes, this is the first of their tokens.
    private var tokens: [(label: (name: String, value: String), token: DaemonStatus.Token)] {
        let shared = (status.identities ?? []).compactMap { identity in
            identity.tokens.first.map { (("identity", identity.name), $0) }
        }
        let own = status.channels.filter { $0.identities == nil }.compactMap { channel in
            channel.token.map { (("channel", channel.name), $0) }
        }
        return shared + own
    }

    /// Writes one number for each token with a value.
    private mutating func writeTokens(
        _ kind: Kind,
        _ name: String,
        _ help: String,
        _ value: (DaemonStatus.Token) -> Double?
    ) {
        begin(kind, name, help)
        for (label, token) in tokens {
            if let value = value(token) { sample(name, [label], value) }
        }
    }

    /// Writes the metrics of the process, named like those of Prometheus' own client libraries.
    private mutating func writeProcess() {
        guard let process = status.process else { return }
        write(
            .gauge,
            "process_start_time_seconds",
            "When the process started, in seconds since 1970.",
            process.startS
        )
        write(
            .counter,
            "process_cpu_seconds_total",
            "Processor time in user space and in the kernel.",
            process.cpuS
        )
        write(
            .counter,
            "netproxy_polled_seconds_total",
            "Seconds that event loops have spent polling instead of sleeping.",
            process.polledS ?? 0
        )
        if let bytes = process.residentBytes {
            write(.gauge, "process_resident_memory_bytes", "Memory in use.", Double(bytes))
        }
        if let descriptors = process.descriptors {
            write(.gauge, "process_open_fds", "Open descriptors.", Double(descriptors))
        }
        write(
            .gauge,
            "process_max_fds",
            "How many descriptors the process may have.",
            Double(process.descriptorLimit)
        )
    }
}

extension PrometheusText {
    private enum Kind: String {
        case counter, gauge, histogram
    }

    /// Writes one number.
    private mutating func write(_ kind: Kind, _ name: String, _ help: String, _ value: Double) {
        begin(kind, name, help)
        sample(name, [], value)
    }

    /// Writes one number for each channel with a value.
    private mutating func write(
        _ kind: Kind,
        _ name: String,
        _ help: String,
        _ value: (DaemonStatus.ChannelStatus) -> Double?
    ) {
        begin(kind, name, help)
        for channel in status.channels {
            if let value = value(channel) { sample(name, [("channel", channel.name)], value) }
        }
    }

    /// Writes one number for each channel and each value of a label.
    private mutating func write(
        _ kind: Kind,
        _ name: String,
        _ help: String,
        by label: String,
        _ values: (DaemonStatus.ChannelStatus) -> [String: Int]?
    ) {
        begin(kind, name, help)
        for channel in status.channels {
            for (word, count) in (values(channel) ?? [:]).sorted(by: { $0.key < $1.key }) {
                sample(name, [("channel", channel.name), (label, word)], Double(count))
            }
        }
    }

    /// Writes a histogram for each channel that has one.
    private mutating func write(
        _ name: String,
        _ help: String,
        _ durations: (DaemonStatus.ChannelStatus) -> DaemonStatus.Durations?
    ) {
        begin(.histogram, name, help)
        for channel in status.channels {
            guard let durations = durations(channel) else { continue }
            let label = ("channel", channel.name)
            for bucket in durations.buckets {
                let bound = bucket.withinS.map(PrometheusText.number) ?? "+Inf"
                sample("\(name)_bucket", [label, ("le", bound)], Double(bucket.count))
            }
            sample("\(name)_sum", [label], durations.sumS)
            sample("\(name)_count", [label], Double(durations.buckets.last?.count ?? 0))
        }
    }

    private mutating func begin(_ kind: Kind, _ name: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func sample(
        _ name: String,
        _ labels: [(name: String, value: String)],
        _ value: Double
    ) {
        let list = labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(PrometheusText.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? String(value)
    }
}
