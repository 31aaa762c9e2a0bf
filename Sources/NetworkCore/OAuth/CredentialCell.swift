import Synchronization

/// The token in force, for every thread: read on the hot path without a hop.
final class CredentialCell: Sendable {
    /// A token with the instants at which something is to be done about it.
    struct Snapshot: Sendable {
        let credential: Credential
        /// From here on one background refresh is due; callers do not wait.
        let advisory: ContinuousClock.Instant
        /// From here on callers wait for a refresh.
        let mandatory: ContinuousClock.Instant
        /// From here on the token is never sent.
        let expiry: ContinuousClock.Instant
        /// Seconds since 1970 when it expires: the earlier of both clocks counts.
        let wallExpiry: Double?
        /// An origin said that it is no longer valid.
        var isRejected = false
    }

    private let snapshot = Mutex<Snapshot?>(nil)

    /// The token in force, if there is one.
    var current: Snapshot? { snapshot.withLock { $0 } }

    func set(_ next: Snapshot?) {
        snapshot.withLock { $0 = next }
    }

    /// Marks the token as known bad, if it is still the one of `generation`.
    func reject(generation: Int) {
        snapshot.withLock { snapshot in
            if snapshot?.credential.generation == generation { snapshot?.isRejected = true }
        }
    }
}
