import Bytes
import NetworkCore
import RequestLog

/// The lines of a subscription as the content of an answer that has no end.
struct FeedBody: BodySource {
    let feed: LogFeed
    let subscription: LogSubscription

    func next() async throws -> ByteSlice? {
        guard let lines = await subscription.next() else {
            feed.unsubscribe(subscription)
            return nil
        }
        return ByteSlice(lines)
    }

    func cancel() { feed.unsubscribe(subscription) }
}
