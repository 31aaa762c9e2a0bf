/// The share of a pool's connections that may wait for the content of an app.
///
/// An app that sends its content slowly holds a connection for as long as it likes. With the rest of
/// the pool, everyone else is still served: requests without content, and those whose content is here.
struct UploadShare {
    /// The largest number of them: three quarters of the pool, and at least one.
    let limit: Int
    /// The uploads that wait for their turn.
    let waiters = PoolQueue()
    private var count = 0

    /// The share of a pool of so many connections.
    init(of connections: Int) {
        limit = max(1, connections - max(1, connections / 4))
    }

    /// Begins an upload; returns false if it has to wait.
    mutating func begin() -> Bool {
        guard count < limit else { return false }
        count += 1
        return true
    }

    /// Ends one; the next takes its place.
    mutating func end() {
        if let waiter = waiters.takeWaiting() { waiter.grant(nil) } else { count -= 1 }
    }
}
