/// A time limit with the name of its setting.
///
/// The error of a timeout contains both, so that its reader knows which number to change.
package struct TimeSetting: Sendable, Hashable {
    /// The configuration key or the property, such as `timeouts.response`.
    package var name: String
    /// The limit; `nil` if unknown.
    package var value: Duration?
    /// The party that gave up.
    package var owner: String

    /// Creates a named limit.
    package init(_ name: String, _ value: Duration?, owner: String = "netproxy") {
        self.name = name
        self.value = value
        self.owner = owner
    }

    /// A clause such as `netproxy gave up after timeouts.response (10m)`.
    var clause: String {
        guard let value else { return "\(owner) gave up after \(name)" }
        return "\(owner) gave up after \(name) (\(value.written))"
    }
}

/// The source of a transport's limits, which determines their names in errors.
package enum TimeSettings: Sendable, Hashable {
    /// A channel of the daemon, with configuration keys.
    case channel
    /// A program that uses the library, with properties of `UpstreamOptions`.
    case options
    /// The daemon itself, with limits that no key changes, for requests of this kind.
    case fixed(String)

    /// Returns the named limit of a phase.
    ///
    /// - Parameters:
    ///   - key: its name in a channel's configuration.
    ///   - property: its name in `UpstreamOptions`.
    ///   - value: the limit.
    /// - Returns: the named limit.
    package func setting(_ key: String, _ property: String, _ value: Duration?) -> TimeSetting {
        switch self {
        case .channel: TimeSetting(key, value)
        case .options: TimeSetting("UpstreamOptions.\(property)", value, owner: "this client")
        case .fixed(let purpose): TimeSetting("its own limit for \(purpose)", value)
        }
    }
}

extension Duration {
    /// The duration in the spelling of the configuration, such as `250ms`, `90s`, `10m` or `1h`.
    package var written: String {
        let (seconds, attoseconds) = components
        guard attoseconds == 0 else {
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
            return "\(milliseconds)ms"
        }
        if seconds >= 3600, seconds % 3600 == 0 { return "\(seconds / 3600)h" }
        if seconds >= 120, seconds % 60 == 0 { return "\(seconds / 60)m" }
        return "\(seconds)s"
    }
}
