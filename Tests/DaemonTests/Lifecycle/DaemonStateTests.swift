import Testing

@testable import NetproxyService

/// The actions that each state of a daemon allows.
@Suite struct DaemonStateTests {
    private static let starting = DaemonState.starting(Task {})

    @Test(
        arguments: [
            (.created, .drain, false, false), (starting, .cancelStart, true, false),
            (.serving, .drain, false, false), (.draining, .wait, false, true),
            (.stopped, .nothing, false, true),
        ] as [(DaemonState, DaemonState.StopAction, Bool, Bool)]
    )
    func `every state has a stop action`(
        state: DaemonState,
        action: DaemonState.StopAction,
        isStarting: Bool,
        isEnding: Bool
    ) {
        #expect(state.stopAction == action)
        #expect(state.isStarting == isStarting)
        #expect(state.isEnding == isEnding)
        #expect(state.word == (isEnding ? "draining" : "serving"))
    }
}
