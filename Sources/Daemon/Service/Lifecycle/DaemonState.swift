/// The lifecycle state of a daemon; it only moves down this list.
///
/// | state | open | a reload | a stop |
/// | --- | --- | --- | --- |
/// | `created` | nothing | refused | ends at once |
/// | `starting` | parts already opened by the start | SIGHUP is ignored | cancels the start |
/// | `serving` | everything | allowed | drains |
/// | `draining` | loops and the admin socket; no listener | refused | waits for the end |
/// | `stopped` | nothing | refused | returns |
enum DaemonState {
    case created
    case starting(Task<Void, any Error>)
    case serving
    case draining
    case stopped

    /// The action of a stop.
    enum StopAction {
        case cancelStart, drain, wait, nothing
    }

    /// The action of a stop in this state.
    var stopAction: StopAction {
        switch self {
        case .created, .serving: .drain
        case .starting: .cancelStart
        case .draining: .wait
        case .stopped: .nothing
        }
    }

    /// Whether a start is in progress.
    var isStarting: Bool {
        if case .starting = self { true } else { false }
    }

    /// Whether a stop has begun or has finished.
    var isEnding: Bool {
        switch self {
        case .draining, .stopped: true
        case .created, .starting, .serving: false
        }
    }

    /// The word in `/status`.
    var word: String { isEnding ? "draining" : "serving" }
}
