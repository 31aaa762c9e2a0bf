import NetproxyConfig

/// The configuration in force, and what became of the last reload.
///
/// Times are seconds since 1970.
struct ConfigurationInForce: Sendable {
    /// The configuration that the process started with: keys that only a start reads keep its values.
    package let initial: ProxyConfiguration
    /// The last one that was loaded.
    private(set) var current: ProxyConfiguration
    private(set) var loadedAt: Double
    /// The reload that was refused since then, if one was.
    private(set) var refusal: (at: Double, reasons: [String])?

    init(_ configuration: ProxyConfiguration, at now: Double) {
        initial = configuration
        current = configuration
        loadedAt = now
    }

    /// Takes another configuration.
    ///
    /// - Returns: the keys whose new values wait for the next start.
    mutating func replace(with next: ProxyConfiguration, at now: Double) -> [String] {
        (current, loadedAt, refusal) = (next, now, nil)
        return initial.needingRestart(comparedTo: next)
    }

    /// Notes that a reload was refused.
    mutating func refuse(_ reasons: [String], at now: Double) {
        refusal = (now, reasons)
    }
}

extension ProxyConfiguration {
    /// The keys that differ and that only a start reads.
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
