import NetworkCore
import OAuth
import Synchronization

/// How often tokens were asked for, by channel, since the start: also when a reload made the channel
/// anew, since a counter that falls back would be taken for a restart.
final class TokenRequests: Sendable {
    struct Counts: Sendable {
        /// How many tokens came.
        var renewals = 0
        /// How many requests brought none.
        var failures = 0
    }

    private let counts = Mutex<[String: Counts]>([:])

    /// Counts what became of a token request; other events say nothing of one.
    func count(_ event: OAuthEvent, of channel: String) {
        switch event {
        case .refreshed: counts.withLock { $0[channel, default: Counts()].renewals += 1 }
        case .failed, .dead: counts.withLock { $0[channel, default: Counts()].failures += 1 }
        case .adopted, .stored, .storeFailed, .forgotten: break
        }
    }

    /// Those of a channel.
    func counts(of channel: String) -> Counts {
        counts.withLock { $0[channel] ?? Counts() }
    }
}
