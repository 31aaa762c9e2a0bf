import Glibc
import Synchronization

/// Counts the objects that a thread has made and that are still alive: tests look for leaks with it.
///
/// Other tests run in the same process. So each census counts the objects of some threads only.
package final class LiveObjects: Sendable {
    private static let observers = Mutex<[UInt: LiveObjects]>([:])

    private let counts = Mutex<[String: Int]>([:])

    /// Makes a census that counts nothing yet.
    package init() {}

    /// Whether this build counts objects: a release build does not.
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

    /// Counts the objects that the calling thread makes from now on.
    package func observeThread() {
        LiveObjects.observers.withLock { $0[UInt(pthread_self())] = self }
    }

    /// Counts no objects that are made from now on.
    package func stop() {
        LiveObjects.observers.withLock { observers in
            observers = observers.filter { $0.value !== self }
        }
    }

    func add(_ number: Int, to type: String) {
        counts.withLock { $0[type, default: 0] += number }
    }

    /// The numbers of live objects by type, without zeros.
    package var present: [String: Int] {
        counts.withLock { counts in counts.filter { $0.value != 0 } }
    }

    /// The types of which there has been an object.
    package var known: Set<String> {
        counts.withLock { Set($0.keys) }
    }
}
