import NetworkCore
package import OAuth
import Synchronization

/// Counts token requests by channel since the start of the daemon.
///
/// A reload does not reset the counters: a decreasing counter would look like a restart.
package final class TokenRequests: Sendable {
    package struct Counts: Sendable {
        /// Requests that returned a token.
        package var renewals = 0
        /// Requests that failed.
        package var failures = 0
        /// Renewals that the excess guard prevented.
        package var excesses = 0
        /// Faults of the token store.
        package var storeFaults: [StoreFault: Int] = [:]
    }

    private let counts = Mutex<[String: Counts]>([:])

    /// Counts the outcome of a token request; other events are ignored.
    func count(_ event: OAuthEvent, of channel: String) {
        switch event {
        case .refreshed: counts.withLock { $0[channel, default: Counts()].renewals += 1 }
        case .failed(let failure):
            counts.withLock { counts in
                counts[channel, default: Counts()].failures += 1
                if failure.isExcess { counts[channel, default: Counts()].excesses += 1 }
            }
        case .dead: counts.withLock { $0[channel, default: Counts()].failures += 1 }
        case .storeFailed(let fault, _):
            counts.withLock { $0[channel, default: Counts()].storeFaults[fault, default: 0] += 1 }
        case .adopted, .stored, .forgotten, .unusualType, .signedInElsewhere: break
        }
    }

    /// Returns the counts of a channel.
    package func counts(of channel: String) -> Counts {
        counts.withLock { $0[channel] ?? Counts() }
    }
}
