import Synchronization

/// How many connections from apps the process has: all loops count together, so that the limit is the
/// process's however many loops there are, and no loop refuses what another has room for.
final class ConnectionCount: Sendable {
    private let open = Atomic(0)
    private let beyond = Atomic(0)
    /// How many were too many since the start.
    var refused: Int { beyond.load(ordering: .relaxed) }

    /// Counts one more; false if there are `limit` already: then it counts as refused.
    func add(upTo limit: Int) -> Bool {
        guard open.add(1, ordering: .relaxed).newValue > limit else { return true }
        remove()
        beyond.add(1, ordering: .relaxed)
        return false
    }

    /// Counts one less.
    func remove() {
        open.subtract(1, ordering: .relaxed)
    }
}
