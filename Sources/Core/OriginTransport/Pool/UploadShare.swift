/// The share of a pool's connections that may wait for content from clients.
///
/// A client that sends its content slowly occupies a connection for an unlimited time. The rest of the pool
/// still serves everyone else: requests without content, and requests whose content is in memory.
struct UploadShare {
    /// The maximum number of uploads: three quarters of the pool, and at least one.
    let limit: Int
    /// The uploads that wait for their turn.
    let waiters = PoolQueue()
    private var count = 0

    /// Creates the share of a pool with the given number of connections.
    init(of connections: Int) {
        limit = max(1, connections - max(1, connections / 4))
    }

    /// Begins an upload; returns `false` if it has to wait.
    mutating func begin() -> Bool {
        guard count < limit else { return false }
        count += 1
        return true
    }

    /// Ends an upload; the next one replaces it.
    mutating func end() {
        if let waiter = waiters.takeWaiting() { waiter.grant(nil) } else { count -= 1 }
    }
}
