/// The limits on the requests of a channel.
package struct RateSettings: Sendable, Hashable {
    /// The limit of all clients together; nil means any number.
    package var all: Allowance?
    /// The limit of each key that `netproxy exec` lends; nil means any number.
    package var eachKey: Allowance?

    package init(all: Allowance?, eachKey: Allowance? = nil) {
        (self.all, self.eachKey) = (all, eachKey)
    }

    /// A number of requests per duration.
    package struct Allowance: Sendable, Hashable {
        package var requests: Int
        package var per: Duration
        /// The maximum number of simultaneous requests after a pause.
        package var burst: Int

        package init(requests: Int, per: Duration, burst: Int) {
            (self.requests, self.per, self.burst) = (requests, per, burst)
        }
    }
}
