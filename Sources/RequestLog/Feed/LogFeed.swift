import Bytes
import Synchronization

/// The log as it happens, for those who ask: every line also goes to each subscription.
///
/// Shared by all loops. While nobody listens, a line costs one load of a counter.
package final class LogFeed: Sendable {
    /// How many subscriptions there may be at once: each costs every line a copy.
    package static let subscriptionLimit = 16

    private let count = Atomic<Int>(0)
    private let subscriptions = Mutex<[LogSubscription]>([])

    /// A feed that nobody listens to yet.
    package init() {}

    /// Whether anybody listens.
    @inline(__always)
    package var isWatched: Bool { count.load(ordering: .relaxed) > 0 }

    /// Begins to listen; nothing if there are too many already.
    ///
    /// - Parameters:
    ///   - channels: whose lines are wanted; all of them while it is empty. `netproxy` is the
    ///     daemon's own log.
    ///   - filter: what a line must satisfy.
    /// - Returns: the reader's end.
    package func subscribe(
        channels: [String] = [],
        filter: [WhereExpression] = []
    ) -> LogSubscription? {
        let subscription = LogSubscription(channels: channels, filter: filter)
        let isTaken = subscriptions.withLock { list in
            guard list.count < Self.subscriptionLimit else { return false }
            list.append(subscription)
            count.store(list.count, ordering: .relaxed)
            return true
        }
        return isTaken ? subscription : nil
    }

    /// Ends one subscription; harmless if it has ended.
    package func unsubscribe(_ subscription: LogSubscription) {
        subscriptions.withLock { list in
            list.removeAll { $0 === subscription }
            count.store(list.count, ordering: .relaxed)
        }
        subscription.finish()
    }

    /// Hands on one line of JSON with its newline.
    func offer(_ line: Span<UInt8>, of channel: String?) {
        let list = subscriptions.withLock { $0 }
        for subscription in list where subscription.wants(channel) { subscription.add(line) }
    }

    /// Ends all subscriptions, once they have read what is there.
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
