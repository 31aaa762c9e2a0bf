/// Which side ended an exchange before its time.
package enum AbortedBy: String, Sendable, CaseIterable {
    /// The app went away.
    case client
    /// The upstream closed, reset or broke the protocol.
    case upstream
    /// netproxy gave up: a timeout, a drain that ran out, a limit.
    case proxy
}
