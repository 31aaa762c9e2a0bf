import NetworkCore
import Synchronization

/// The current credential, which every attempt can read without a call to the manager.
///
/// A lock around a few words, held for a few instructions: reading neither waits for the manager's
/// executor nor allocates.
final class CredentialSnapshot: Sendable {
    struct Content {
        var credential: Credential?
        /// The time from which a read is reported to the manager.
        var staleAt = Moment.never
        /// The time from which the credential must not be used.
        var dueAt = Moment.never
        /// Whether a token can be obtained without a sign-in.
        var isSignedIn: Bool
        /// The end of `isSignedIn`; `nil` if none is known.
        var signedInUntil: UnixTime?
        /// Whether the manager wants to know that a request with the token succeeded: it is new or in
        /// doubt.
        var wantsAcceptanceReport = false
    }

    enum Reading {
        case fresh(Credential)
        /// Still valid; the one reader that gets this has the manager renew it.
        case stale(Credential)
        case none
    }

    private let content: Mutex<Content>

    init(_ first: Content) {
        content = Mutex(first)
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

    var wantsAcceptanceReport: Bool { content.withLock { $0.wantsAcceptanceReport } }
}
