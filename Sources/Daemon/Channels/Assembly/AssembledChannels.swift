import NetproxyConfig
package import NetproxyPath

/// The channels of a configuration, and the outages of those that lack a secret or a file.
package struct AssembledChannels: Sendable {
    /// The reason for assembling channels, which sets how long to wait for their secrets.
    package enum Occasion: Sendable {
        /// The daemon starts; a channel with slow secrets begins to serve later than the others.
        case start
        /// The configuration is reloaded; the present channels serve in the meantime.
        case reload

        var patience: Duration {
            switch self {
            case .start: .milliseconds(250)
            case .reload: ChannelOutage.patience
            }
        }
    }

    /// An outage, and its pending reading, if any.
    package struct Recovery: Sendable {
        package let outage: ChannelOutage
        package let reading: Task<ChannelReading, Never>?
        /// The output of helper programs, for the operator.
        package let words: [String]
    }

    /// The channels in the order of the configuration.
    package private(set) var channels: [ChannelRecord] = []
    /// The channels that lack a secret or a file.
    package private(set) var recoveries: [Recovery] = []
    /// The time until a secret must be read again, if a helper program has stated one.
    package private(set) var secretLifetime: Duration?

    /// Adds a channel.
    ///
    /// - Parameters:
    ///   - channel: the channel that serves the requests.
    ///   - wanted: the channel's configuration.
    ///   - pending: the reading of its secrets and files.
    ///   - reasons: the reasons for missing secrets or files; `nil` if the reading has not ended.
    ///   - pace: the pace of the channel's recovery.
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
