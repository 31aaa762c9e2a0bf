/// When a feed of server-sent events connects again after its connection ended (WHATWG HTML §9.2.3).
public struct EventReconnection: Sendable, Hashable {
    /// How long to wait, until the stream names another time with `retry`.
    ///
    /// Default 3 s, as browsers do.
    public var delay: Duration
    /// The longest wait that failures in a row lead to: each doubles the wait before it.
    ///
    /// Default 60 s. A `retry` of the stream that is longer holds all the same.
    public var maximum: Duration
    /// How many attempts in a row may fail before the feed throws; `nil` tries for ever.
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

    /// How long to wait after so many failures in a row; 0 stands for a stream that just ended.
    ///
    /// A day at most, whatever the stream says; and never again and again without any wait, which
    /// `isBarren` says would be: the connection brought no event.
    func wait(after failures: Int, retry: Duration?, isBarren: Bool = false) -> Duration {
        let least = Duration.milliseconds(100)
        let first = min(retry ?? delay, .seconds(24 * 60 * 60))
        guard failures > 1 else { return isBarren ? max(first, least) : first }
        let doubled = max(first, least) * (1 << min(failures - 1, 20))
        return max(first, min(doubled, maximum))
    }

    /// Whether another attempt may go better: the network failed, in a way that may pass.
    static func isWorthwhile(after error: NetworkError) -> Bool {
        guard error.response == nil else { return false }
        switch error.kind {
        // What this side lacks it lacks the next time, too.
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
