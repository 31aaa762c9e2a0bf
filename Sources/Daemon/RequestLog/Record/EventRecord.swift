/// Any logged event other than an exchange, such as a renewed token, a full pool or a reload of the
/// configuration.
package struct EventRecord: Sendable {
    /// The value of a fact.
    package enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
        case flag(Bool)
        /// Written in milliseconds; the fact's name ends in `_ms`.
        case duration(Duration)
    }

    /// The kind of event.
    package enum Event: String, Sendable, CaseIterable {
        case token, pool, reload, upgrade
        /// A suspicious request.
        case request
        /// An event of the log itself, such as lost lines.
        case log
        /// An event of the daemon: start, listeners, stop.
        case daemon
        /// An action on credentials or the configuration.
        case audit
    }

    /// The time of the event.
    package var time: WallTime
    /// The severity.
    package var level: LogLevel
    /// The kind of event.
    package var event: Event
    /// A constant text that describes the event; the facts contain the variable parts.
    package var message: String
    /// Names and values, in the order of the line.
    package var facts: [(name: String, value: Value)]

    /// Creates a record.
    package init(
        time: WallTime,
        level: LogLevel = .info,
        event: Event,
        message: String,
        facts: [(name: String, value: Value)] = []
    ) {
        self.time = time
        self.level = level
        self.event = event
        self.message = message
        self.facts = facts
    }

    /// Adds a fact after the others.
    package mutating func add(_ name: String, _ value: Value) { facts.append((name, value)) }
}

/// The severity of a line.
package enum LogLevel: String, Sendable, CaseIterable {
    case info, warning, error
}
