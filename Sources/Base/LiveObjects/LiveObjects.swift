import Glibc
import Synchronization

/// Counts the live objects that a thread has created, so that tests can detect leaks.
///
/// Other tests run in the same process, so each census covers selected threads only.
package final class LiveObjects: Sendable {
    private static let observers = Mutex<[UInt: LiveObjects]>([:])

    private let counts = Mutex<[String: Int]>([:])

    /// Creates a census that does not observe any thread.
    package init() {}

    /// Whether this build counts objects; a release build does not.
    package static var areCounted: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    /// The census of the calling thread.
    static var ofThread: LiveObjects? {
        observers.withLock { $0[UInt(pthread_self())] }
    }

    /// Counts the objects that the calling thread creates from now on.
    package func observeThread() {
        LiveObjects.observers.withLock { $0[UInt(pthread_self())] = self }
    }

    /// Stops counting new objects.
    package func stop() {
        LiveObjects.observers.withLock { observers in
            observers = observers.filter { $0.value !== self }
        }
    }

    func add(_ number: Int, to type: String) {
        counts.withLock { $0[type, default: 0] += number }
    }

    /// The number of live objects by type, without zeros.
    package var present: [String: Int] {
        counts.withLock { counts in counts.filter { $0.value != 0 } }
    }

    /// The types that have had at least one object.
    package var known: Set<String> {
        counts.withLock { Set($0.keys) }
    }
}
