/// Lets a few stories run at the same time and no more: each has a daemon with loops of its own, and
/// hundreds of them side by side would measure the machine.
actor StoryTurns {
    static let shared = StoryTurns()
    /// Set within a story, whose further daemons need no turn.
    @TaskLocal static var hasTurn = false

    private var free = 4
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Waits for a turn.
    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// Passes the turn on.
    func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
