import Synchronization

/// Counts from 1.
package final class Counter: Sendable {
    private let count = Mutex(0)

    /// Makes a counter that has not counted yet.
    package init() {}

    /// The next number.
    package func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    /// What it has counted.
    package var value: Int { count.withLock { $0 } }

    /// Counts further.
    package func add(_ number: Int) {
        count.withLock { $0 += number }
    }
}
