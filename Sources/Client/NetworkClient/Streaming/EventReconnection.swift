/// The rules for connecting again after the connection of a feed has ended (WHATWG HTML §9.2.3).
public struct EventReconnection: Sendable, Hashable {
    /// The wait, until the stream sets another one with `retry`.
    ///
    /// Default 3 s, as browsers do.
    public var delay: Duration
    /// The longest wait after failures in a row, each of which doubles the wait.
    ///
    /// Default 60 s. A longer `retry` of the stream is still respected.
    public var maximum: Duration
    /// The number of attempts in a row that may fail before the feed throws; `nil` for no limit.
    ///
    /// Default: for ever. An attempt that gets as far as an event stream ends the row.
    public var attempts: Int?
    /// The id of the last event that was seen earlier, for `Last-Event-ID` of the first request.
    public var lastEventID: String

    /// Describes the waits.
    public init(
        delay: Duration = .seconds(3),
        maximum: Duration = .seconds(60),
        attempts: Int? = nil,
        lastEventID: String = ""
    ) {
        self.delay = delay
        self.maximum = maximum
        self.attempts = attempts
        self.lastEventID = lastEventID
    }

    /// The shortest wait after a connection without events, so that a feed never spins.
    static let shortest = Duration.milliseconds(100)

    /// The wait after a number of failures in a row; 0 failures if the stream just ended.
    ///
    /// A wait lasts at most a day, whatever the stream says.
    func wait(after failures: Int, retry: Duration?, atLeast least: Duration = .zero) -> Duration {
        let first = min(retry ?? delay, .seconds(24 * 60 * 60))
        guard failures > 1 else { return max(first, least) }
        let doubled = max(first, Self.shortest) * (1 << min(failures - 1, 20))
        return max(first, min(doubled, maximum))
    }

    /// Whether another attempt may go better: the network failed, in a way that may pass.
    static func isWorthwhile(after error: NetworkError) -> Bool {
        guard error.response == nil else { return false }
        switch error.kind {
        // A lack on this side is still there the next time.
        case .destinationUnavailable:
            return error.side == .upstream
        case .dnsTimeout, .dnsError, .connectionRefused,
            .connectionTerminated, .connectionTimeout, .connectionReadTimeout,
            .connectionWriteTimeout, .connectionLimitReached, .httpResponseIncomplete,
            .httpResponseTimeout, .credentialUnavailable:
            return true
        default:
            return false
        }
    }
}
