/// Limits the number of stories that run at the same time.
///
/// Each story has a daemon with its own event loops, and hundreds of them would overload the machine.
actor StoryTurns {
    static let shared = StoryTurns()
    /// Whether the task runs within a story, whose other daemons need no turn.
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
