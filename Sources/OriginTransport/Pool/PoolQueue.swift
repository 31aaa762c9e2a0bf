import EventIO

/// The requests that wait for a connection of a pool, in the order in which they came.
final class PoolQueue {
    private(set) var count = 0
    private var waiters: [PoolWaiter] = []

    /// Adds one at the end.
    func add(_ waiter: PoolWaiter) {
        waiters.append(waiter)
        count += 1
    }

    /// Puts one back at the front.
    func putBack(_ waiter: PoolWaiter) {
        waiters.insert(waiter, at: 0)
        count += 1
    }

    /// Takes the one that has waited longest.
    func takeFirst() -> PoolWaiter? {
        // Mostly empty: the count is cheaper than the array's uniqueness check.
        guard count > 0 else { return nil }
        count -= 1
        return waiters.removeFirst()
    }

    /// Takes the one that has waited longest and still does.
    func takeWaiting() -> PoolWaiter? {
        while let waiter = takeFirst() {
            if waiter.isWaiting { return waiter }
        }
        return nil
    }

    /// Takes one out, if it is here.
    func remove(_ waiter: PoolWaiter) {
        waiters.removeAll { $0 === waiter }
        count = waiters.count
    }
}

/// One request that waits for a connection of a full pool.
final class PoolWaiter: TimerEntry {
    enum Grant {
        case connection(UpstreamConnection)
        /// The right to open a connection.
        case slot
        case timedOut
        case cancelled
    }

    /// Whether only the right to open a connection helps.
    let wantsNew: Bool
    private var result: Grant?
    private var continuation: CheckedContinuation<Void, Never>?

    var isWaiting: Bool { result == nil }

    init(wantsNew: Bool) {
        self.wantsNew = wantsNew
        super.init()
    }

    func wait() async -> Grant {
        if result == nil { await withCheckedContinuation { continuation = $0 } }
        return result ?? .timedOut
    }

    func grant(_ connection: UpstreamConnection?) {
        finish(connection.map(Grant.connection) ?? .slot)
    }

    func cancel() { finish(.cancelled) }

    override func fire() { finish(.timedOut) }

    private func finish(_ grant: Grant) {
        guard result == nil else { return }
        result = grant
        continuation?.resume()
        continuation = nil
    }
}
