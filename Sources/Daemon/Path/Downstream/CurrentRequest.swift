import NetproxyEventIO
import NetworkCore

/// The state of the current request.
struct CurrentRequest {
    /// The number of the request, so that the body of an earlier one is not mistaken for this one's.
    var number = 0
    /// The number of content bytes read.
    var bytesIn = 0
    /// Whether the client waits for `100 Continue` before it sends the content.
    var owesContinue = false
    /// Whether the client reads trailer fields.
    var takesTrailers = false
    /// Whether responses name this proxy in `Via`.
    var announcesProxy = true
    /// The times at which content was last received from the client and sent to it.
    var lastReceived: UInt64 = 0
    var lastSent: UInt64 = 0
    /// The longest time without a byte between the client and netproxy; a channel may set another limit.
    var idleTimeout: Duration? = CurrentRequest.idleTimeout
    /// Whether the limit is the channel's `timeouts.idle`.
    var hasChannelLimits = false
    /// The secrets to remove from trailer fields, which are written after the content.
    var sent: SentSecrets?

    /// The default limit without a channel.
    static let idleTimeout = Duration.seconds(60)

    /// Applies the settings of the request's channel.
    mutating func enter(idleTimeout: Duration?, announcesProxy: Bool) {
        self.idleTimeout = idleTimeout
        self.announcesProxy = announcesProxy
        hasChannelLimits = true
    }

    /// Returns the end of the time without a byte, for a wait for content.
    func idleDeadline(since start: UInt64) -> UInt64 {
        idleTimeout.map { max(start, lastSent) &+ $0.nanoseconds } ?? .max
    }

    /// The name and value of the limit in errors.
    var idleSetting: TimeSetting {
        TimeSetting(
            hasChannelLimits ? "timeouts.idle" : "its own limit for requests without a channel",
            idleTimeout
        )
    }
}
