package import NetproxyConfig
import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore
import Synchronization

/// Refuses requests beyond a channel's `rate`.
///
/// All loops share it.
package final class RateLimiter: Sendable {
    /// The largest number of lent keys with counted requests.
    private static let keyLimit = 1024

    private struct State {
        var all: RateLimit?
        /// The limits by the ids of the keys.
        var keys: [String: RateLimit] = [:]
    }

    package let settings: RateSettings
    private let state = Mutex(State())

    package init(_ settings: RateSettings) {
        self.settings = settings
    }

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - client: the sender of the request.
    ///   - now: the time of a clock that all loops share.
    /// - Throws: `rate_limited` with 429 and the time to wait.
    func check(_ client: RateClient, at now: Duration) throws(NetworkError) {
        let refusal = state.withLock { admit(client, at: now, &$0) }
        guard let refusal else { return }
        throw NetworkError(
            .rateLimited,
            side: .downstream,
            retry: .safe,
            detail: "\(refusal.limit); try again in \(refusal.retryAfter) s",
            status: 429,
            retryAfter: refusal.retryAfter
        )
    }

    private func admit(
        _ client: RateClient,
        at now: Duration,
        _ state: inout State
    ) -> (limit: String, retryAfter: Int)? {
        if case .key(let id) = client, let allowance = settings.eachKey {
            Self.makeRoom(for: id, in: &state.keys, at: now)
            let verdict = state.keys[id, default: RateLimit(allowance, at: now)]
                .admit(client, at: now)
            if case .refused(let seconds) = verdict {
                return ("the key's rate.each_key is used up (\(allowance.written))", seconds)
            }
        }
        guard let allowance = settings.all else { return nil }
        if state.all == nil { state.all = RateLimit(allowance, at: now) }
        guard case .refused(let seconds)? = state.all?.admit(client, at: now) else { return nil }
        if case .key(let id) = client { state.keys[id]?.putBack() }
        return ("the channel's rate is used up (\(allowance.written))", seconds)
    }

    /// Forgets the keys with full buckets, or else an arbitrary one.
    private static func makeRoom(
        for id: String,
        in keys: inout [String: RateLimit],
        at now: Duration
    ) {
        guard keys[id] == nil, keys.count >= keyLimit else { return }
        for key in keys.keys where keys[key]?.isFull(at: now) == true { keys[key] = nil }
        if keys.count >= keyLimit, let any = keys.keys.first { keys[any] = nil }
    }
}

extension RateSettings.Allowance {
    /// The allowance in the notation of the configuration.
    fileprivate var written: String {
        "requests: \(requests), per: \(per.written), burst: \(burst)"
    }
}
