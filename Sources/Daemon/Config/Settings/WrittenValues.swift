/// The values of a configuration as they are written, by their key paths, for people who compare two.
package struct WrittenValues: Sendable, Hashable {
    private struct Value: Sendable, Hashable {
        var text: String
        /// Whether it may be a credential, so that only its change is shown.
        var isPrivate: Bool
    }

    private var values: [String: Value] = [:]

    /// The defaults of a channel's keys that are not written.
    package static let channelDefaults = [
        "auth.allow_insecure": "false", "auth.in": "header", "auth.on_client_credential": "replace",
        "headers.via": "auto", "host": "upstream", "http": "auto", "log.category": "network",
        "log.query": "keys",
        "match.strip": "true", "pool.connections": "128", "pool.idle": "90s", "pool.queue": "1024",
        "pool.wait": "5s", "proxy": "off", "retry.attempts": "2", "retry.backoff.base": "100ms",
        "retry.backoff.max": "2s", "retry.budget": "20%", "retry.replay_body": "64KiB",
        "retry.spill": "off", "retry.status": "[502, 503, 504]", "retry.unauthorized": "true",
        "rewrite": "false", "timeouts.connect": "10s", "timeouts.idle": "10m",
        "timeouts.response": "10m", "timeouts.total": "off", "tls.minimum": "'1.2'",
        "tls.pin_mode": "enforce", "tls.system_roots": "false", "trace": "pass",
    ]

    /// What differs from an earlier configuration, one line a key: `timeouts.total: off → 30s`.
    ///
    /// - Parameters:
    ///   - earlier: the values before.
    ///   - channel: whose values are compared; `nil` for those of the process.
    /// - Returns: the lines, sorted; of what may be a credential, they say only that it changed.
    package func changes(from earlier: WrittenValues, channel: String?) -> [String] {
        let prefix = channel.map { "channels.\($0)." }
        let keys = Set(values.keys).union(earlier.values.keys).filter { key in
            prefix.map { key.hasPrefix($0) } ?? !key.hasPrefix("channels.")
        }
        return keys.sorted().compactMap { key in
            let (old, new) = (earlier.values[key], values[key])
            guard old != new else { return nil }
            if old?.isPrivate == true || new?.isPrivate == true {
                return "\(key): \(old == nil ? "added" : new == nil ? "removed" : "changed")"
            }
            let preset = prefix.flatMap { Self.channelDefaults[String(key.dropFirst($0.count))] }
            let absent = preset ?? "default"
            let (before, after) = (old?.text ?? absent, new?.text ?? absent)
            return before == after ? nil : "\(key): \(before) → \(after)"
        }
    }

    /// Sets the value of a key path.
    mutating func set(_ path: String, to text: String, isPrivate: Bool) {
        values[path] = Value(text: text, isPrivate: isPrivate)
    }
}
