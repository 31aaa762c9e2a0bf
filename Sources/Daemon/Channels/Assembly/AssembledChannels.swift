import NetproxyConfig
package import NetproxyPath

/// The channels of a configuration, and the outages of those that lack a secret or a file.
package struct AssembledChannels: Sendable {
    /// The reason for making channels, which decides how long that waits for their secrets.
    package enum Occasion: Sendable {
        /// Channels whose secrets take longer begin to serve later than the others.
        case start
        /// Meanwhile the present channels serve.
        case reload

        var patience: Duration {
            switch self {
            case .start: .milliseconds(250)
            case .reload: ChannelOutage.patience
            }
        }
    }

    /// An outage, and the reading that is still under way, if any.
    package struct Recovery: Sendable {
        package let outage: ChannelOutage
        package let reading: Task<ChannelReading, Never>?
        /// The words of helper programs, for the operator.
        package let words: [String]
    }

    /// The channels in the order of the configuration.
    package private(set) var channels: [ChannelRecord] = []
    /// The channels that lack a secret or a file.
    package private(set) var recoveries: [Recovery] = []
    /// The time after which a secret must be read again, if a program has stated one.
    package private(set) var secretLifetime: Duration?

    /// Adds a channel.
    ///
    /// - Parameters:
    ///   - channel: the channel that takes the requests.
    ///   - wanted: its configuration.
    ///   - pending: the reading.
    ///   - reasons: the reasons why it lacks something; `nil` if the reading has not ended.
    ///   - pace: the pace of its recovery.
    mutating func add(
        _ channel: ChannelRecord,
        of wanted: ChannelConfiguration,
        _ pending: PendingReading,
        lacking reasons: [String]?,
        at pace: RecoveryPace
    ) {
        channels.append(channel)
        secretLifetime = [secretLifetime, pending.ended?.lifetime].compactMap { $0 }.min()
        guard reasons?.isEmpty != true else { return }
        recoveries.append(
            Recovery(
                outage: channel.outage
                    ?? ChannelOutage(of: wanted, .servedAsBefore, because: reasons, pace: pace),
                reading: pending.ended == nil ? pending.task : nil,
                words: pending.ended?.words ?? []
            )
        )
    }
}
