/// Something other than an exchange that the log tells: a token was renewed, a pool is full, the
/// configuration was read again.
package struct EventRecord: Sendable {
    /// A fact's value.
    package enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
        case flag(Bool)
        /// Written in milliseconds; end the name in `_ms`.
        case duration(Duration)
    }

    /// What kind of thing happened.
    package enum Event: String, Sendable, CaseIterable {
        case token, pool, reload, upgrade
        /// A request that is worth a look.
        case request
        /// The log itself, such as lines that were lost.
        case log
        /// The daemon: start, listeners, stop.
        case daemon
    }

    /// When.
    package var time: WallTime
    /// How much it matters.
    package var level: LogLevel
    /// What kind of thing.
    package var event: Event
    /// What happened, in constant words; what varies is in the facts.
    package var message: String
    /// Names and values, in the order of the line.
    package var facts: [(name: String, value: Value)]

    /// Records something.
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
}
