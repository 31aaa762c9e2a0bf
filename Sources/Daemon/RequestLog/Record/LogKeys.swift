/// The keys of log lines; a dot separates the levels of nested objects.
package enum LogKeys {
    /// The keys with numbers as values.
    static let numbers: Set<String> = [
        "status", "upstream_status", "grpc_status", "bytes_in", "bytes_out", "duration_ms",
        "attempts",
        "client_uid", "client_pid", "auth.generation", "auth.age_s", "auth.wait_ms",
        "timings.queue_ms",
        "timings.dns_ms", "timings.connect_ms", "timings.tls_ms", "timings.first_byte_ms",
        // Of events other than exchanges.
        "generation", "next_attempt_s", "dropped",
    ]

    private static let others: Set<String> = [
        "time", "level", "subsystem", "category", "channel", "event", "request_id",
        "client_request_id", "trace_id", "client", "client_key", "method", "scheme", "host", "path",
        "query",
        "target", "protocol", "timings", "upstream", "reused", "retries", "auth", "auth.kind",
        "auth.identity",
        "auth.refreshed", "auth.overrode_client", "auth.not_replayed", "error", "detail",
        "aborted_by", "headers", "response_headers",
        "message", "reason", "kind", "identity", "fields", "action",
    ]

    /// All keys, except for the header fields that `log.headers` names.
    static let all = numbers.union(others).sorted()

    /// Whether a line may have the key.
    package static func contains(_ key: String) -> Bool {
        numbers.contains(key) || others.contains(key) || key.hasPrefix("headers.")
            || key.hasPrefix("response_headers.")
    }
}
