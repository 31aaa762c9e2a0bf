/// The requests that wait for a connection of a pool, in the order in which they came.
final class WaitingRequests {
    private(set) var count = 0
    private var waiters: [PoolWaiter] = []

    /// Adds one behind the others.
    func add(_ waiter: PoolWaiter) {
        waiters.append(waiter)
        count += 1
    }

    /// Puts one back in front, which was taken from there.
    func putBack(_ waiter: PoolWaiter) {
        waiters.insert(waiter, at: 0)
        count += 1
    }

    /// Takes the one that has waited longest.
    func takeFirst() -> PoolWaiter? {
        // The array costs a check that nobody else uses it, and mostly there is nobody in it.
        guard count > 0 else { return nil }
        count -= 1
        return waiters.removeFirst()
    }

    /// Takes one out, if it is here.
    func remove(_ waiter: PoolWaiter) {
        waiters.removeAll { $0 === waiter }
        count = waiters.count
    }
}
