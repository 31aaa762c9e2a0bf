import Synchronization

/// How many connections from apps the process has: all loops count together, so that the limit is the
/// process's however many loops there are, and no loop refuses what another has room for.
final class ConnectionCount: Sendable {
    private let open = Atomic(0)

    /// Counts one more; false, without counting, if there are `limit` already.
    func add(upTo limit: Int) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue > limit else { return true }
        remove()
        return false
    }

    /// Counts one less.
    func remove() {
        open.subtract(1, ordering: .relaxed)
    }
}
