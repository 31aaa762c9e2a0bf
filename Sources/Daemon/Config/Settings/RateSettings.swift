/// How many requests a channel takes.
package struct RateSettings: Sendable, Hashable {
    /// Of all clients together; nil means any number.
    package var all: Allowance?
    /// Of each key that `netproxy exec` lends; nil means any number.
    package var eachKey: Allowance?

    package init(all: Allowance?, eachKey: Allowance? = nil) {
        (self.all, self.eachKey) = (all, eachKey)
    }

    /// So many requests in a time.
    package struct Allowance: Sendable, Hashable {
        package var requests: Int
        package var per: Duration
        /// How many may come at once after a pause.
        package var burst: Int

        package init(requests: Int, per: Duration, burst: Int) {
            (self.requests, self.per, self.burst) = (requests, per, burst)
        }
    }
}
