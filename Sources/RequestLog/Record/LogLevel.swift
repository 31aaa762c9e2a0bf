/// How much a line matters.
package enum LogLevel: String, Sendable, CaseIterable {
    case info, warning, error
}

/// Which side ended an exchange before its time.
package enum AbortedBy: String, Sendable, CaseIterable {
    /// The app went away.
    case client
    /// The upstream closed, reset or broke the protocol.
    case upstream
    /// netproxy gave up: a timeout, a drain that ran out, a limit.
    case proxy
}

/// How much of a query the log shows.
package enum QueryMode: String, Sendable, CaseIterable {
    /// The names of its parameters, with commas between them.
    case keys
    /// The query as it was sent, but for the values of well-known credential parameters.
    case full
    /// Nothing.
    case off
}
