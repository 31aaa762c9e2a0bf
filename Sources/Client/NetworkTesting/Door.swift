import Synchronization

/// A door that the test opens and closes; tasks that reach a closed door wait.
public final class Door: Sendable {
    private let isOpen = Atomic(true)
    private let waiters = Waiters<Void>()

    /// Creates an open door.
    public init() {}

    /// The number of waiting tasks.
    public var waiting: Int { waiters.count }

    /// Closes the door; tasks that reach it wait.
    public func close() { isOpen.store(false, ordering: .sequentiallyConsistent) }

    /// Opens the door and releases all waiting tasks.
    public func open() {
        isOpen.store(true, ordering: .sequentiallyConsistent)
        waiters.release { true }
    }

    /// Waits until the door is open or the task is canceled.
    public func pass() async {
        if isOpen.load(ordering: .sequentiallyConsistent) { return }
        await waiters.wait(for: ()) { isOpen.load(ordering: .sequentiallyConsistent) }
    }
}
