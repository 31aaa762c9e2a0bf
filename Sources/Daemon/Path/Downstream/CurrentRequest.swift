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
    /// The longest time without progress between the client and netproxy; a channel may set another
    /// limit.
    var idleTimeout: Duration? = CurrentRequest.idleTimeout
    /// Whether the limit is the channel's `timeouts.idle`.
    var hasChannelLimits = false

    /// The default limit without a channel.
    static let idleTimeout = Duration.seconds(60)

    /// Applies the settings of the request's channel.
    mutating func enter(idleTimeout: Duration?, announcesProxy: Bool) {
        self.idleTimeout = idleTimeout
        self.announcesProxy = announcesProxy
        hasChannelLimits = true
    }

    /// The name and value of the limit in errors.
    var idleSetting: TimeSetting {
        TimeSetting(
            hasChannelLimits ? "timeouts.idle" : "its own limit for requests without a channel",
            idleTimeout
        )
    }
}
