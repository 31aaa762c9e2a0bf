/// Where a daemon is in its life: it moves down this list and never back.
///
/// | state | open | a reload | a stop |
/// | --- | --- | --- | --- |
/// | `created` | nothing | refused | ends at once |
/// | `starting` | what the start has opened so far | SIGHUP is ignored | cancels the start |
/// | `serving` | everything | allowed | drains |
/// | `draining` | loops and the admin socket; no listener | refused | waits for the end |
/// | `stopped` | nothing | refused | returns |
enum DaemonState {
    case created
    case starting(Task<Void, any Error>)
    case serving
    case draining
    case stopped

    /// What a stop has to do.
    enum StopAction {
        case cancelStart, drain, wait, nothing
    }

    /// What a stop has to do in this state.
    var stopAction: StopAction {
        switch self {
        case .created, .serving: .drain
        case .starting: .cancelStart
        case .draining: .wait
        case .stopped: .nothing
        }
    }

    /// Whether a start is under way.
    var isStarting: Bool {
        if case .starting = self { true } else { false }
    }

    /// Whether a stop has begun, or is over.
    var isEnding: Bool {
        switch self {
        case .draining, .stopped: true
        case .created, .starting, .serving: false
        }
    }

    /// The word of `/status`.
    var word: String { isEnding ? "draining" : "serving" }
}
