import NetworkCore
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
        /// Whether there is what a token can be had with, without a person.
        var isSignedIn: Bool
        /// When that ends; nothing if it does not, as far as is known.
        var signedInUntil: UnixTime?
        /// Whether the manager waits for word of a request with the token: it is new, or in doubt.
        var wantsWord = false
    }

    enum Reading {
        case fresh(Credential)
        /// Still good; whoever gets this answer, one reader only, tells the manager to renew it.
        case stale(Credential)
        case none
    }

    private let content: Mutex<Content>

    init(isSignedIn: Bool) {
        content = Mutex(Content(isSignedIn: isSignedIn))
    }

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

    func isSignedIn(at now: UnixTime) -> Bool {
        content.withLock { content in
            content.isSignedIn && content.signedInUntil.map { now < $0 } ?? true
        }
    }

    var wantsWord: Bool { content.withLock { $0.wantsWord } }
}
