import Synchronization

/// A counter that starts at 1.
package final class Counter: Sendable {
    private let count = Mutex(0)

    /// Creates a counter.
    package init() {}

    /// The last number.
    package var current: Int { count.withLock { $0 } }

    /// Returns the next number.
    package func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    /// The last number.
    package var value: Int { count.withLock { $0 } }

    /// Adds to the count.
    package func add(_ number: Int) {
        count.withLock { $0 += number }
    }
}
