import NetproxyChannels
import NetproxyPath
import NetproxySystem
import NetworkCore

/// Puts channels in force after their secrets and files were read again.
///
/// Not `Sendable`: it changes the daemon's `Serving`. The daemon runs it in turn with its reloads.
struct RecoveredChannels {
    private let serving: Serving

    init(_ serving: Serving) {
        self.serving = serving
    }

    /// Assembles the channels of all finished readings, and installs them together.
    ///
    /// Hundreds of channels can share an identity.
    func install() async {
        guard !serving.state.isEnding, let assembly = serving.assembly,
            let recovery = serving.recovery
        else { return }
        let ended = recovery.takeReadings()
        guard !ended.isEmpty else { return }
        var next = serving.channels.channels
        var outcomes: [(channel: ChannelRecord?, reasons: [String])] = []
        for (outage, reading) in ended {
            let present = next
            let made = await OffLoop.run {
                await assembly.channel(after: outage, reading, keeping: present)
            }
            if let channel = made.channel {
                next = next.map { $0.name == channel.name ? channel : $0 }
            }
            outcomes.append(made)
        }
        guard !serving.state.isEnding else { return }
        if !next.elementsEqual(serving.channels.channels, by: { $0.rules === $1.rules }) {
            await serving.replaceChannels(with: next)
            await serving.workers.install(
                serving.tablePlan(assembly),
                limits: Worker.Limits(serving.inForce.current, bodyRate: serving.setup.bodyRate),
                moving: []
            )
        }
        for ((outage, reading), made) in zip(ended, outcomes) {
            serving.renewSecrets(within: reading.lifetime)
            recovery.note(
                made.reasons,
                made.channel == nil ? .refused : .servedAsBefore,
                of: outage,
                words: reading.words
            )
        }
    }
}
