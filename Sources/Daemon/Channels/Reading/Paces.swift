import NetproxyConfig
import NetproxyPath

/// The pace of each channel's recovery.
///
/// Channels with a common identity or unreadable secret have the same pace, so that it is read once for all.
struct Paces {
    private enum Key: Hashable {
        case identity(String)
        case secret(SecretReference)
    }

    private let paces: [RecoveryPace]

    /// Creates the paces of channels, whose readings are in the same order.
    init(of channels: [ChannelConfiguration], _ readings: [PendingReading]) {
        var paces: [RecoveryPace] = []
        var known: [Key: RecoveryPace] = [:]
        for (channel, reading) in zip(channels, readings) {
            let unread = reading.ended?.unread ?? Set(channel.programs)
            let keys =
                channel.credentials.compactMap(\.identity).map(Key.identity)
                + unread.map(Key.secret)
            let pace = keys.lazy.compactMap { known[$0] }.first ?? RecoveryPace()
            for key in keys { known[key] = pace }
            paces.append(pace)
        }
        self.paces = paces
    }

    subscript(index: Int) -> RecoveryPace { paces[index] }
}

extension ChannelConfiguration {
    /// The secrets printed by helper programs.
    fileprivate var programs: [SecretReference] {
        (secretReferences + documentReferences).filter(\.isProgram)
    }
}
