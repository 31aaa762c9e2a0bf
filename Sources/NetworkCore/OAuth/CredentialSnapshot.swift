import Synchronization

/// The credential at hand, where every attempt can read it without asking the manager.
///
/// A lock around a handful of words that is held for a few instructions: reading neither waits for
/// the manager's executor nor allocates.
final class CredentialSnapshot: Sendable {
    struct Content {
        var credential: Credential?
        /// From here on the manager wants to hear of the next read.
        var staleAt = Moment.never
        /// From here on the credential is not given out.
        var dueAt = Moment.never
        var isSignedIn = true
        /// Whether the manager waits for word of a first request with a new token.
        var isProbing = false
    }

    enum Reading {
        case fresh(Credential)
        /// Still good; whoever gets this answer, one reader only, tells the manager to renew it.
        case stale(Credential)
        case none
    }

    private let content = Mutex(Content())

    func publish(_ next: Content) {
        content.withLock { $0 = next }
    }

    func read(at now: Moment) -> Reading {
        content.withLock { content in
            guard let credential = content.credential else { return .none }
            if content.dueAt.isReached(at: now) { return .none }
            if content.staleAt.isReached(at: now) {
                content.staleAt = .never
                return .stale(credential)
            }
            return .fresh(credential)
        }
    }

    var isSignedIn: Bool { content.withLock { $0.isSignedIn } }
    var isProbing: Bool { content.withLock { $0.isProbing } }
}
