/// Calls an action when its turn comes.
package final class ActionTimer: TimerEntry {
    private let action: () -> Void

    /// Makes a timer that is in no wheel.
    package init(_ action: @escaping () -> Void) {
        self.action = action
    }

    /// Calls the action.
    package override func fire() { action() }
}
