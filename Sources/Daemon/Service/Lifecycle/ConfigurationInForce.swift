import NetproxyConfig

/// The configuration in force, and the result of the last reload.
///
/// Times are in seconds since 1970.
struct ConfigurationInForce: Sendable {
    /// The configuration at the start of the process; keys that only a start reads keep its values.
    package let initial: ProxyConfiguration
    /// The last loaded configuration.
    private(set) var current: ProxyConfiguration
    private(set) var loadedAt: Double
    /// The last refused reload since then, if any.
    private(set) var refusal: (at: Double, reasons: [String])?

    init(_ configuration: ProxyConfiguration, at now: Double) {
        initial = configuration
        current = configuration
        loadedAt = now
    }

    /// Replaces the configuration.
    ///
    /// - Returns: the keys whose new values take effect at the next start.
    mutating func replace(with next: ProxyConfiguration, at now: Double) -> [String] {
        (current, loadedAt, refusal) = (next, now, nil)
        return initial.needingRestart(comparedTo: next)
    }

    /// Records a refused reload.
    mutating func refuse(_ reasons: [String], at now: Double) {
        refusal = (now, reasons)
    }
}

extension ProxyConfiguration {
    /// Returns the changed keys that only a start reads.
    func needingRestart(comparedTo next: ProxyConfiguration) -> [String] {
        var keys: [String] = []
        if next.workers != workers { keys.append("workers") }
        if next.admin != admin { keys.append("admin") }
        if next.state != state || next.etcd != etcd { keys.append("state") }
        if next.stateKeys != stateKeys { keys.append("state_key") }
        if next.log.output != log.output { keys.append("log.output") }
        if next.log.format != log.format { keys.append("log.format") }
        return keys
    }
}
