import NetproxyBytes
import Synchronization

/// The live log, which copies every line to each subscription.
///
/// Shared by all event loops. Without subscriptions, a line costs one load of a counter.
package final class LogFeed: Sendable {
    /// The maximum number of concurrent subscriptions, each of which copies every line.
    package static let subscriptionLimit = 16

    private let count = Atomic<Int>(0)
    private let subscriptions = Mutex<[LogSubscription]>([])

    /// Creates a feed without subscriptions.
    package init() {}

    /// Whether there are subscriptions.
    @inline(__always)
    package var isWatched: Bool { count.load(ordering: .relaxed) > 0 }

    /// Adds a subscription.
    ///
    /// - Parameters:
    ///   - channels: the names of the channels, all if empty; `netproxy` is the daemon's own log.
    ///   - filter: conditions that a line must satisfy.
    /// - Returns: the subscription, or nil if the limit is reached.
    package func subscribe(
        channels: [String] = [],
        filter: [WhereExpression] = []
    ) -> LogSubscription? {
        let subscription = LogSubscription(channels: channels, filter: filter)
        let isAdded = subscriptions.withLock { list in
            guard list.count < Self.subscriptionLimit else { return false }
            list.append(subscription)
            count.store(list.count, ordering: .relaxed)
            return true
        }
        return isAdded ? subscription : nil
    }

    /// Ends a subscription, unless it has ended already.
    package func unsubscribe(_ subscription: LogSubscription) {
        subscriptions.withLock { list in
            list.removeAll { $0 === subscription }
            count.store(list.count, ordering: .relaxed)
        }
        subscription.finish()
    }

    /// Forwards a line of JSON, including its newline.
    func offer(_ line: Span<UInt8>, of channel: String?) {
        let list = subscriptions.withLock { $0 }
        for subscription in list where subscription.wants(channel) { subscription.add(line) }
    }

    /// Ends all subscriptions; their readers still receive the lines added so far.
    package func finish() {
        let list = subscriptions.withLock { list in
            let all = list
            list = []
            count.store(0, ordering: .relaxed)
            return all
        }
        for subscription in list { subscription.finish() }
    }
}
