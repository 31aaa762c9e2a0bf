import Synchronization

/// A door that the test opens and closes; tasks that come to a closed one wait.
public final class Door: Sendable {
    private let isOpen = Atomic(true)
    private let waiters = Waiters<Void>()

    /// An open door.
    public init() {}

    /// The number of waiting tasks.
    public var waiting: Int { waiters.count }

    /// Lets no task through from now on.
    public func close() { isOpen.store(false, ordering: .sequentiallyConsistent) }

    /// Lets all tasks through.
    public func open() {
        isOpen.store(true, ordering: .sequentiallyConsistent)
        waiters.release { true }
    }

    /// Returns when the door is open or the task is cancelled.
    public func pass() async {
        if isOpen.load(ordering: .sequentiallyConsistent) { return }
        await waiters.wait(for: ()) { isOpen.load(ordering: .sequentiallyConsistent) }
    }
}
