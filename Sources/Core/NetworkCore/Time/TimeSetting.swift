/// A limit of time by the name under which it was set: what the error of a timeout says, so that its
/// reader knows which number to change.
package struct TimeSetting: Sendable, Hashable {
    /// The key or the property, such as `timeouts.response`.
    package var name: String
    /// The limit; `nil` where it is not known.
    package var value: Duration?
    /// The party that gave up.
    package var owner: String

    /// Names a limit.
    package init(_ name: String, _ value: Duration?, owner: String = "netproxy") {
        self.name = name
        self.value = value
        self.owner = owner
    }

    /// `netproxy gave up after timeouts.response (10m)`.
    var clause: String {
        guard let value else { return "\(owner) gave up after \(name)" }
        return "\(owner) gave up after \(name) (\(value.written))"
    }
}

/// The source of a transport's limits, and so their names in errors.
package enum TimeSettings: Sendable, Hashable {
    /// A channel of the daemon: keys of the configuration.
    case channel
    /// A program that uses the library: properties of `UpstreamOptions`.
    case options
    /// The daemon itself: limits that no key changes, for requests of this kind.
    case fixed(String)

    /// The limit of a phase.
    ///
    /// - Parameters:
    ///   - key: its name in a channel's configuration.
    ///   - property: its name in `UpstreamOptions`.
    ///   - value: the limit.
    /// - Returns: the limit by its name.
    package func setting(_ key: String, _ property: String, _ value: Duration?) -> TimeSetting {
        switch self {
        case .channel: TimeSetting(key, value)
        case .options: TimeSetting("UpstreamOptions.\(property)", value, owner: "this client")
        case .fixed(let purpose): TimeSetting("its own limit for \(purpose)", value)
        }
    }
}

extension Duration {
    /// The duration as a configuration spells it, such as `250ms`, `90s`, `10m` or `1h`.
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
