/// The rules for reconnections after the connection of a feed has ended (WHATWG HTML §9.2.3).
public struct EventReconnection: Sendable, Hashable {
    /// The wait, until the stream sets another one with `retry`.
    ///
    /// Default 3 s, like browsers.
    public var delay: Duration
    /// The longest wait after consecutive failures, each of which doubles the wait.
    ///
    /// Default 60 s. A longer `retry` of the stream is still respected.
    public var maximum: Duration
    /// The maximum number of consecutive failed attempts before the feed throws; `nil` for no limit.
    ///
    /// Default: no limit. An attempt that receives an event stream resets the count.
    public var attempts: Int?
    /// The ID of the last event of an earlier feed, for `Last-Event-ID` in the first request.
    public var lastEventID: String

    /// Creates the rules.
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

    /// Returns the wait after a number of consecutive failures; 0 failures if the stream just ended.
    ///
    /// The `retry` of the stream is limited to one day.
    func wait(after failures: Int, retry: Duration?, atLeast least: Duration = .zero) -> Duration {
        let first = min(retry ?? delay, .seconds(24 * 60 * 60))
        guard failures > 1 else { return max(first, least) }
        let doubled = max(first, Self.shortest) * (1 << min(failures - 1, 20))
        return max(first, min(doubled, maximum))
    }

    /// Whether another attempt may succeed, because the network failure may be temporary.
    static func isWorthwhile(after error: NetworkError) -> Bool {
        guard error.response == nil else { return false }
        switch error.kind {
        // A local failure is not temporary.
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
